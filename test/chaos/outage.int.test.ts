import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { findPostgres } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { runDatabaseOutage } from './outage.ts'
import { ProfileWorld } from './profile-world.ts'

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

const BREAKER_OPEN_MS = 700
/** The full minute, as the example is configured, is `npm run chaos:outage`. */
const FAST_DETECTION = { outageMs: 4_000, recoveryMs: 60_000 }
const worlds = new Set<ProfileWorld>()
afterEach(async () => {
  for (const world of worlds) await world.close()
  worlds.clear()
})

async function newWorld(): Promise<ProfileWorld> {
  const env = { BREAKER_OPEN_MS: String(BREAKER_OPEN_MS), RETRY_BASE_MS: '100' }
  const world = new ProfileWorld(rabbit!.url, postgres!.node!, env)
  worlds.add(world)
  await world.start()
  return world
}

const all = (published: number) => ({ handled: published, mostDeadLetters: 0, deadLetters: 0, exitCode: 0 })

describe.runIf(isThere)(
  `a database that goes away${isThere ? '' : ` (skipped: ${whyNot.join('; ')})`}`,
  () => {
    it('B6, E18: the consumer pauses, nothing is dead-lettered, and all is handled soon after its return', async () => {
      const report = await runDatabaseOutage(await newWorld(), {
        ...FAST_DETECTION,
        before: 500,
        atOnce: 0,
        perSecond: 50,
        hasSeenEnough: ({ publishedDuringOutage, looks, looksDown, looksPaused }) =>
          publishedDuringOutage > 100 && looksDown > looks / 2 && looksPaused > looks / 2,
      })
      expect(report).toMatchObject(all(report.published))
      expect(report.handledBefore).toBeLessThan(500)
      expect(report.mostInHand).toBeLessThanOrEqual(20)
      // Five to open the breaker, what was under way beside them, and a probe now and then: not one for each event.
      expect(report.failedAttempts).toBeLessThan(5 + 20 + report.lastedMs / BREAKER_OPEN_MS)
    })

    it('B6: a single event is not dead-lettered either, although every failure and probe is its own', async () => {
      const report = await runDatabaseOutage(await newWorld(), {
        ...FAST_DETECTION,
        before: 1,
        atOnce: 1,
        perSecond: 0,
        // As many as failures of other kinds get before they are given up on.
        hasSeenEnough: ({ mostAttempts }) => mostAttempts >= 6,
      })
      expect(report).toMatchObject(all(2))
    })

    it('B6: a service that is stopped during the outage exits with 0, and the next one handles the returned events', async () => {
      const world = await newWorld()
      await world.postgres.stop()
      await world.register(40)
      const timing = new TestTiming({})
      await timing.eventually(() => world.service.said('paused').length > 0, 'it pauses')
      expect(await world.service.stop()).toBe(0)
      await world.postgres.start()
      await world.start()
      await world.hasRows(40)
      expect(await world.status()).toMatchObject({ deadLetters: 0, quarantined: 0, suspects: 0 })
      expect(await world.service.stop()).toBe(0)
    })
  },
)
