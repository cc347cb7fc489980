import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { takeDatabaseAway } from './outage.ts'

const foundRabbitmq = await findRabbitmq()
const foundPostgres = await findPostgres()
const whyNot = [foundRabbitmq, foundPostgres].flatMap(found => (found.found ? [] : [found.why]))
if (foundPostgres.found && !foundPostgres.isPrivate) whyNot.push('the Postgres given is not ours to stop')
const isThere = whyNot.length === 0
const rabbit = isThere && foundRabbitmq.found ? await foundRabbitmq.start() : undefined
const postgres = isThere && foundPostgres.found ? await foundPostgres.start() : undefined
afterAll(async () => {
  await rabbit?.close()
  await postgres?.close()
})

/** The full minute is `npm run chaos:outage`. */
const quick = { outageMs: 4_000, recoveryMs: 20_000, env: { BREAKER_OPEN_MS: '700', RETRY_BASE_MS: '100' } }
const all = (published: number) => ({ handled: published, mostDeadLetters: 0, deadLetters: 0, exitCode: 0 })

describe.runIf(isThere)(
  `a database that goes away${isThere ? '' : ` (skipped: ${whyNot.join('; ')})`}`,
  () => {
    it('B6, E18: the consumer pauses, nothing is dead-lettered, and all is handled soon after its return', {
      timeout: 60_000,
    }, async () => {
      const servers = { amqp: rabbit!.url, postgres: postgres!.node! }
      const report = await takeDatabaseAway({ ...servers, ...quick, before: 500, atOnce: 0, perSecond: 50 })
      expect(report).toMatchObject(all(report.published))
      expect(report.handledBefore).toBeLessThan(500)
      expect(report.publishedDuringOutage).toBeGreaterThan(100)
      expect(report.looksDown).toBeGreaterThan(report.looks / 2)
      expect(report.looksPaused).toBeGreaterThan(report.looks / 2)
      expect(report.mostInHand).toBeLessThanOrEqual(20)
      // Five to open the breaker, what was under way beside them, and a probe now and then: not one for each event.
      expect(report.failedAttempts).toBeLessThan(30)
    })

    it('B6: neither is an event that is alone, although every failure and every probe is its own', {
      timeout: 60_000,
    }, async () => {
      const servers = { amqp: rabbit!.url, postgres: postgres!.node! }
      const report = await takeDatabaseAway({ ...servers, ...quick, before: 1, atOnce: 1, perSecond: 0 })
      expect(report).toMatchObject(all(2))
      // More than the six that failures of other kinds get.
      expect(report.mostAttempts).toBeGreaterThanOrEqual(6)
    })
  },
)
