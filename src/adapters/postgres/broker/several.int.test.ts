import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { make, timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { createIdSource } from '../../../core/event/uuid.ts'
import { PermanentError } from '../../../core/failure/signals.ts'
import { systemClock, systemRandom } from '../../../ports/clock.ts'
import { startReplay } from '../../../replay/control.ts'
import { planReplay } from '../../../replay/plan.ts'
import { runReplay } from '../../../replay/runner.ts'
import { createConsumer } from '../../../runtime/consumer/consumer.ts'
import { LeaderElection } from '../../../server/work/leader-election.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { openPostgres } from '../index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
afterAll(async () => {
  await database?.close()
  await server?.close()
})
const LETTERS = 40
const PER_SECOND = 50

describe.runIf(found.found)(
  `several servers on one database${found.found ? '' : ` (skipped: ${found.why})`}`,
  () => {
    it('K8: of all that would run a replay one does, so that each letter is sent once and the rate is the rate', async () => {
      const channel = uniqueName('orders')
      const stores = [1, 2, 3, 4].map(() => openPostgres({ pool: database!.pool, maxPollMs: 50 }))
      const [store] = stores
      const shop = { isBroken: true }
      const consumer = createConsumer({
        broker: openPostgres({ pool: database!.pool, maxPollMs: 50 }).broker,
        channel,
        handle: async () => {
          if (shop.isBroken) throw new PermanentError('out of order')
        },
      })
      await consumer.start()
      await store!.broker.publish(make.events(LETTERS, { channel }))
      const states = async () => (await store!.deadLetters.stats({ channel })).byState
      await timing.eventually(async () => (await states()).dead === LETTERS, 'all are dead')
      shop.isBroken = false
      const environment = { clock: systemClock, newId: createIdSource(systemRandom) }
      const request = { reason: 'mended', by: 'ann', perSecond: PER_SECOND, stages: ['rest' as const] }
      const { id } = await planReplay(store!, { ...request, filter: { channel } }, environment)
      await startReplay(store!, id, { by: 'ann', clock: systemClock })
      const sends: { readonly id: string; readonly at: number; readonly by: number }[] = []
      const runs = await Promise.allSettled(
        stores.map((each, by) =>
          runReplay(each, id, {
            environment,
            owner: 'server',
            target: {
              async send(events) {
                const at = systemClock.now()
                sends.push(...events.map(event => ({ id: event.id, at, by })))
                await each.broker.publish(events)
              },
            },
          }),
        ),
      )
      expect(runs.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(new Set(sends.map(({ by }) => by)).size).toBe(1)
      expect(sends).toHaveLength(LETTERS)
      expect(new Set(sends.map(each => each.id)).size).toBe(LETTERS)
      const tookMs = sends.at(-1)!.at - sends[0]!.at
      expect(tookMs).toBeGreaterThanOrEqual(((LETTERS - 1) / PER_SECOND) * 1_000 * 0.9)
      expect(await states()).toEqual({ resolved: LETTERS })
      await consumer.close()
      for (const each of stores) await each.close()
    })

    it('F8: one is on duty, and the next goes on when it ends', async () => {
      const onDuty: string[] = []
      const name = uniqueName('collector')
      const standby = (who: string) => {
        const { ledger } = openPostgres({ pool: database!.pool })
        const stop = async () => void onDuty.splice(onDuty.indexOf(who), 1)
        return new LeaderElection({ name, start: () => void onDuty.push(who), stop }, ledger, systemClock)
      }
      const [first, second, third] = [standby('a'), standby('b'), standby('c')]
      first.start()
      await timing.eventually(() => onDuty.length === 1, 'the first is on duty')
      second.start()
      await second.stop()
      expect(onDuty).toEqual(['a'])
      await first.stop()
      third.start()
      await timing.eventually(() => onDuty.length === 1, 'another is on duty')
      expect(onDuty).toEqual(['c'])
      await third.stop()
    })
  },
)
