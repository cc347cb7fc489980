import { type Rules, violated } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { type BrokerName, FAULTS, type Fault } from './plan.ts'

const RULES: Rules<Findings> = [
  ['lost', 'lost events'],
  ['unpublished', 'events that the producer could not publish'],
  ['both', 'events that were handled and are dead letters'],
  ['impossible', 'handled events that can never succeed'],
  ['wronged', 'dead letters of events that can succeed'],
  ['left', 'events left on the server'],
  ['twice', 'effects in the transaction of the ledger that happened twice'],
]
/** A ledger behind the same network as its broker cannot know an effect whose entry the network lost. */
const LOCAL_LEDGERS: readonly BrokerName[] = ['rabbitmq', 'kafka', 'nats']
const KNOWN: Rules<Findings> = [['unexplained', 'handler runs of events that the ledger had as done']]

export function violationsOf({ options, findings, stuck }: CampaignResult): string[] {
  const rules = LOCAL_LEDGERS.includes(options.broker) ? [...RULES, ...KNOWN] : RULES
  return [...violated(rules, findings), ...stuck].map(text => `${options.broker}: ${text}`)
}

/** The report as it is printed and kept: Markdown, with a row for each broker. */
export function reportOf(results: readonly CampaignResult[]): string[] {
  const kinds = Object.keys(FAULTS) as Fault[]
  const heads = [
    ...['broker', 'events', 'handled', 'dead', 'lost', 'run again', 'refused', 'published again'],
    ...[...kinds, 'longest recovery', 'time'],
  ]
  return [
    rowOf(heads),
    rowOf(heads.map((_, index) => (index === 0 ? '---' : '---:'))),
    ...results.map(({ options, findings, ...rest }) =>
      rowOf([
        ...[options.broker, options.messages, findings.handled, findings.dead, findings.lost],
        ...[findings.ranAgain, rest.skipped, rest.publishedAgain],
        ...kinds.map(kind => options.faults[kind]),
        ...[seconds(rest.longestRecoveryMs), seconds(rest.tookMs)],
      ]),
    ),
  ]
}

function rowOf(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
