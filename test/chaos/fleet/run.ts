import { findPostgres } from '../../services/postgres.ts'
import { findRabbitmq } from '../../services/rabbitmq.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from './campaign.ts'
import { reportOf } from './report.ts'
import { violationsOf } from './rules.ts'

await runAsCommand({
  name: 'chaos:fleet',
  numbers: { letters: 500, seed: 1, services: 8, servers: 2, kills: 20, restarts: 3 },
  async run({ seed, letters, services, servers, kills, restarts }) {
    const options = { seed, messages: letters, services, servers, faults: { kill: kills, restart: restarts } }
    const postgres = await findPostgres()
    const result = await withPrivateServer('RabbitMQ', await findRabbitmq(), ({ url }) =>
      withPrivateServer('Postgres', postgres, server => runCampaign(options, server, url, progress)),
    )
    for (const line of result.evidence) progress(line)
    return { report: reportOf(result), violations: violationsOf(result) }
  },
})
