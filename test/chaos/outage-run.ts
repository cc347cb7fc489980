import { parseArgs } from 'node:util'
import { findPostgres } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { runDatabaseOutage } from './outage.ts'
import { ProfileWorld } from './profile-world.ts'

// npm run chaos:outage [-- --seconds 60 --rate 50 --at-once 0 --before 1000]: the example as it is configured, its database away for
// so long, and what became of every event. Ends with 1 when one was dead-lettered or not handled in time.
const RECOVERY_MS = 60_000

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    rate: { type: 'string', default: '50' },
    'at-once': { type: 'string', default: '0' },
    before: { type: 'string', default: '1000' },
  },
})
const foundRabbitmq = await findRabbitmq()
const foundPostgres = await findPostgres()
if (!foundRabbitmq.found) throw new Error(foundRabbitmq.why)
if (!foundPostgres.found) throw new Error(foundPostgres.why)
if (!foundPostgres.isPrivate)
  throw new Error('the Postgres given is not ours to stop: unset LAZARET_TEST_POSTGRES_URL')
const [rabbit, postgres] = await Promise.all([foundRabbitmq.start(), foundPostgres.start()])
const world = new ProfileWorld(rabbit.url, postgres.node!)
try {
  await world.start()
  const report = await runDatabaseOutage(world, {
    outageMs: Number(values.seconds) * 1_000,
    before: Number(values.before),
    atOnce: Number(values['at-once']),
    perSecond: Number(values.rate),
    recoveryMs: RECOVERY_MS,
  })
  for (const [what, value] of Object.entries(report)) process.stdout.write(`${what.padEnd(24)}${value}\n`)
  const holds =
    report.mostDeadLetters === 0 && report.deadLetters === 0 && report.handled === report.published
  process.exitCode = holds && report.exitCode === 0 ? 0 : 1
} finally {
  await world.close()
  await rabbit.close()
  await postgres.close()
}
