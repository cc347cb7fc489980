import { afterEach, describe, expect, it } from 'vitest'
import { findNats, type NatsService } from '../services/nats.ts'
import { runCampaign } from './cluster/campaign.ts'
import { reportOf, violationsOf } from './cluster/report.ts'
import { natsCluster } from './nats/cluster.ts'
import { clusterOf, NATS_FAULTS } from './nats/settings.ts'

const found = await findNats()
const isOurs = found.found && found.isPrivate
const why = found.found ? ' (skipped: the cluster is not ours to kill)' : ` (skipped: ${found.why})`

const MESSAGES = 1_000
const NO_FAULTS = { kill: 0, broker: 0, rolling: 0, rebalance: 0, cut: 0, leader: 0, all: 0 }

/** A short form of `npm run chaos:nats`; docs/campaigns.md has the report of a longer one. */
describe.runIf(isOurs)(`a campaign of faults against NATS${isOurs ? '' : why}`, () => {
  let service: NatsService | undefined
  afterEach(() => service?.close())

  async function run(sync: 'default' | 'always', faults: Partial<typeof NO_FAULTS>): Promise<void> {
    service = found.found ? await found.start(clusterOf(sync)) : undefined
    const result = await runCampaign(
      { seed: 1, messages: MESSAGES, consumers: 2, ordering: 'none', faults: { ...NO_FAULTS, ...faults } },
      natsCluster(service!),
    )
    const { handled, dead } = result.findings
    expect(violationsOf(result), reportOf(result, NATS_FAULTS).join('\n')).toEqual([])
    expect(handled + dead).toBe(MESSAGES)
  }

  it('E21: kills, cuts, a lost server and a new leader: every event ends once', () =>
    run('default', { kill: 1, broker: 1, cut: 1, leader: 2 }))

  it('E21: all servers killed at once, with every write on disk: every event ends once', () =>
    run('always', { all: 1 }))
})
