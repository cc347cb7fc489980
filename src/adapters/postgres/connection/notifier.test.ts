import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import type { PostgresSettings } from '../options.ts'
import { COMMAND_NOTIFICATIONS, instancesIn, type Notifications, Notifier } from './notifier.ts'

/** A notifier on a driven clock, with the channels that it has notified by itself. */
function notifierWorld(
  options: {
    readonly notify?: boolean
    readonly isDown?: boolean
    readonly notifications?: Notifications
  } = {},
) {
  const clock = new FakeClock()
  const sent: unknown[] = []
  const pool = {
    query: async (_: string, [payloads]: readonly [readonly string[]]) => {
      sent.push(...payloads)
      if (options.isDown) throw new Error('connect ECONNREFUSED')
      return { rows: [], rowCount: 0 }
    },
  }
  const settings = { clock, pool, notify: options.notify ?? true } as unknown as PostgresSettings
  return { clock, sent, notifier: new Notifier(settings, options.notifications) }
}

describe('NOTIFY', () => {
  it('S9: the first enqueue of a window notifies itself; the others are one notification at the end', async () => {
    const { clock, sent, notifier } = notifierWorld()
    expect(notifier.due(['orders'])).toEqual(['orders'])
    for (let enqueue = 0; enqueue < 50; enqueue++) expect(notifier.due(['orders'])).toEqual([])
    await clock.advance(9)
    expect(sent).toEqual([])
    await clock.advance(1)
    expect(sent).toEqual(['orders'])
  })

  it('S9: a quiet channel sends nothing when its window ends, and its next enqueue notifies itself', async () => {
    const { clock, sent, notifier } = notifierWorld()
    notifier.due(['orders'])
    await clock.advance(1_000)
    expect(sent).toEqual([])
    expect(notifier.due(['orders'])).toEqual(['orders'])
  })

  it('S9: a busy channel is notified once in 10 ms, for as long as it is busy', async () => {
    const { clock, sent, notifier } = notifierWorld()
    let own = 0
    for (let ms = 0; ms < 1_000; ms++) {
      own += notifier.due(['orders']).length
      await clock.advance(1)
    }
    await clock.advance(1_000)
    expect(own).toBe(1)
    expect(sent.length).toBeGreaterThanOrEqual(99)
    expect(sent.length).toBeLessThanOrEqual(101)
  })

  it('S9: channels do not wait for each other', async () => {
    const { clock, sent, notifier } = notifierWorld()
    expect(notifier.due(['orders'])).toEqual(['orders'])
    expect(notifier.due(['orders', 'mails'])).toEqual(['mails'])
    await clock.advance(10)
    expect(sent).toEqual(['orders'])
  })

  it('S9: without notify nothing is sent, and a failed notification is left to polling', async () => {
    const off = notifierWorld({ notify: false })
    expect(off.notifier.due(['orders'])).toEqual([])
    await off.notifier.notify('orders')
    await off.clock.advance(1_000)
    expect(off.sent).toEqual([])
    const down = notifierWorld({ isDown: true })
    down.notifier.due(['orders'])
    down.notifier.due(['orders'])
    await down.clock.advance(1_000)
    expect(down.sent).toEqual(['orders'])
  })

  it('B17: the instances of commands share notifications, each no longer than the server takes', async () => {
    const { clock, sent, notifier } = notifierWorld({ notifications: COMMAND_NOTIFICATIONS })
    const instances = Array.from({ length: 1_000 }, (_, index) => `instance-${index}`.padEnd(200, '-'))
    expect(notifier.due(instances)).toEqual(instances)
    expect(notifier.due(instances)).toEqual([])
    await clock.advance(10)
    expect(sent.length).toBeLessThan(30)
    expect(Math.max(...sent.map(payload => String(payload).length))).toBeLessThan(8_000)
    expect(sent.flatMap(payload => instancesIn(String(payload)))).toEqual(instances)
  })
})
