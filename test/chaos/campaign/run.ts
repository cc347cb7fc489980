import { parseArgs } from 'node:util'
import { findRabbitmq } from '../../services/rabbitmq.ts'
import { whole } from './arguments.ts'
import { runCampaign } from './campaign.ts'
import { reportOf, violationsOf } from './report.ts'

const USAGE =
  'usage: npm run chaos:rabbitmq -- [--messages 50000] [--seed 1] [--queues quorum|classic] [--kills 10] [--cuts 20] [--restarts 3] [--hangs 2] [--freezes 2]'

const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  const { values } = parseArgs({
    options: {
      messages: { type: 'string', default: '50000' },
      seed: { type: 'string', default: '1' },
      queues: { type: 'string', default: 'quorum' },
      kills: { type: 'string', default: '10' },
      cuts: { type: 'string', default: '20' },
      restarts: { type: 'string', default: '3' },
      hangs: { type: 'string', default: '2' },
      freezes: { type: 'string', default: '2' },
    },
  })
  if (values.queues !== 'quorum' && values.queues !== 'classic')
    throw new Error(`'${values.queues}' is no type of queue`)
  await run({
    seed: whole(values.seed),
    messages: whole(values.messages),
    queueType: values.queues,
    troubles: {
      kill: whole(values.kills),
      cut: whole(values.cuts),
      restart: whole(values.restarts),
      hang: whole(values.hangs),
      freeze: whole(values.freezes),
    },
  })
} catch (error) {
  process.stderr.write(`chaos: ${error instanceof Error ? error.message : error}; ${USAGE}\n`)
  process.exitCode = 2
}

async function run(options: Parameters<typeof runCampaign>[0]): Promise<void> {
  const found = await findRabbitmq()
  if (!found.found || !found.isPrivate) throw new Error('it needs a RabbitMQ of its own, to kill it')
  const server = await found.start()
  try {
    const result = await runCampaign(options, server.node!, line => process.stderr.write(`${line}\n`))
    for (const line of reportOf(result)) print(line)
    const violations = violationsOf(result)
    for (const violation of violations) print(`VIOLATION: ${violation}`)
    if (violations.length > 0) process.exitCode = 1
  } finally {
    await server.close()
  }
}
