import { expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import type { PgPool } from '../connection/client.ts'
import { Retention } from './retention.ts'

const DAY_MS = 86_400_000

it('R10: partitions are created and dropped as time passes, although the clock is set back meanwhile', async () => {
  const clock = new FakeClock()
  const asked: string[] = []
  const query = async (text: string) => {
    asked.push(text)
    return { rows: [{ count: 0, removed: 0 }] }
  }
  const pool = { query } as unknown as PgPool
  const retention = new Retention({ pool, clock, delivered: 'partition', deliveredRetentionMs: DAY_MS })
  const rounds = (name: string) => asked.filter(text => text.includes(name)).length
  await retention.apply()
  clock.jump(-DAY_MS)
  await retention.apply()
  expect([rounds('outbox_partition'), rounds('outbox_drop_partitions')]).toEqual([1, 1])
  await clock.advance(60_000)
  await retention.apply()
  expect([rounds('outbox_partition'), rounds('outbox_drop_partitions')]).toEqual([1, 2])
  await clock.advance(3_600_000)
  await retention.apply()
  expect([rounds('outbox_partition'), rounds('outbox_drop_partitions')]).toEqual([2, 3])
})
