import { findNewestPostgres, findPostgres } from '../../services/postgres.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from './campaign.ts'
import { reportOf, violationsOf } from './report.ts'

await runAsCommand({
  name: 'chaos:outbox',
  numbers: {
    events: 100_000,
    seed: 1,
    relays: 8,
    kills: 24,
    restarts: 6,
    outages: 2,
    freezes: 6,
    cuts: 10,
  },
  others: { newest: { type: 'boolean', default: false } },
  async run({ seed, events, relays, kills, restarts, outages, freezes, cuts, newest }) {
    const faults = { kill: kills, restart: restarts, outage: outages, freeze: freezes, cut: cuts }
    const options = { seed, messages: events, relays, faults }
    const found = newest ? await findNewestPostgres() : await findPostgres()
    const result = await withPrivateServer('Postgres', found, server =>
      runCampaign(options, server, progress),
    )
    return { report: reportOf(result), violations: violationsOf(result) }
  },
})
