import { parseArgs } from 'node:util'
import { findPostgres } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { type OutageReport, runDatabaseOutage } from './outage.ts'
import { ProfileWorld } from './profile-world.ts'

// npm run chaos:outage [-- --seconds 60 --rate 50 --at-once 0 --before 1000]: stops the database of the example for that long and
// reports the outcome of all events. Exit code 1: an event became a dead letter or was not handled in time.
const RECOVERY_MS = 60_000

const LABELS: Readonly<Record<keyof OutageReport, string>> = {
  published: 'published events',
  handled: 'handled events',
  handledBefore: 'events handled before the outage',
  publishedDuringOutage: 'events published during the outage',
  lastedMs: 'length of the outage (ms)',
  pausedAfterMs: 'time until the consumer paused (ms)',
  looks: 'health checks during the outage',
  looksPaused: 'health checks that saw the consumer paused',
  looksDown: 'health checks that answered DOWN with 503',
  mostInHand: 'most events that the consumer held at once',
  failedAttempts: 'failed attempts',
  mostAttempts: 'most attempts of one event',
  waitingAtReturn: 'events that waited when the database returned',
  recoveredAfterMs: 'time from the return until all events were handled (ms)',
  mostDeadLetters: 'most dead letters at any health check',
  deadLetters: 'dead letters at the end',
  exitCode: 'exit code of the service',
}

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
  throw new Error(
    'the campaign stops its Postgres, so it needs a private one; unset LAZARET_TEST_POSTGRES_URL',
  )
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
  for (const [name, value] of Object.entries(report) as [keyof OutageReport, number | null][])
    process.stdout.write(`${LABELS[name].padEnd(62)}${value}\n`)
  const holds =
    report.mostDeadLetters === 0 && report.deadLetters === 0 && report.handled === report.published
  process.exitCode = holds && report.exitCode === 0 ? 0 : 1
} finally {
  await world.close()
  await rabbit.close()
  await postgres.close()
}
