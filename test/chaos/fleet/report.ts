import { row, ruleRows } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import { RULES } from './rules.ts'

/** The report as it is printed and kept: Markdown. */
export function reportOf({ options, findings, tookMs, killed, refusals }: CampaignResult): string[] {
  const { seed, services, servers, faults } = options
  return [
    `| ${services} services, ${servers} servers, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row('service killed (SIGKILL)', killed.services),
    row('server killed (SIGKILL)', killed.servers),
    row('Postgres stopped in immediate mode and restarted', faults.restart),
    row('orders, each a letter of RabbitMQ in Postgres', findings.orders),
    row('letters of sinks', findings.sinkLetters),
    row('replays', findings.replays),
    row('letters sent by a process of the fleet', findings.sent),
    row('commands of people', findings.commands),
    row('commands executed, those of replays included', findings.executed),
    ...ruleRows(RULES, findings),
    row('letters sent again after a crash between sending and record', findings.sentAfterCrash),
    row('letters sent again after their sender stood still while it sent', findings.sentAfterStall),
    row('requests that a server refused or did not answer', refusals),
  ]
}
