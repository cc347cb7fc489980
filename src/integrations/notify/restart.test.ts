import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { letterNotice, MINUTE, notifierWorld, told } from '../../../test/support/notifier-world.ts'
import { fileOpenAlerts } from '../../adapters/file/index.ts'
import type { OpenAlerts } from '../../ports/notifier.ts'

/** Keeps the text in a variable, as a process after a crash would find it. */
function keptInMemory() {
  const kept: { text: string | undefined } = { text: undefined }
  const openAlerts: OpenAlerts = {
    read: async () => kept.text,
    write: async text => {
      kept.text = text
    },
  }
  return { kept, openAlerts }
}

const opened = { kind: 'breaker_opened', at: 0, name: 'payments' } as const
const closed = { kind: 'breaker_closed', at: 0, name: 'payments' } as const

describe('a notifier after a restart', () => {
  it('S7: does not tell an open alert as new, and tells its end', async () => {
    const { openAlerts } = keptInMemory()
    const first = notifierWorld({ openAlerts })
    await first.notifier.notify(opened)
    await first.notifier.flush()
    expect(told(first.alerts())).toEqual(['firing breaker_opened 1'])
    // The process dies: nothing is closed.
    const { clock } = first
    await clock.advance(2 * MINUTE)
    const next = notifierWorld({ openAlerts, clock })
    await next.notifier.notify(opened)
    await clock.advance(10 * MINUTE)
    expect(told(next.alerts())).toEqual(['update breaker_opened 1'])
    await next.notifier.notify(closed)
    await clock.advance(0)
    expect(told(next.alerts()).slice(1)).toEqual(['resolved breaker_opened 0'])
    expect(next.alerts()[1]).toMatchObject({ resolvedBy: 'recovery', count: 2 })
    expect(next.alerts()[1]!.since).toBe(first.alerts()[0]!.since)
    await next.notifier.close()
  })

  it('S7: tells the end of an alert that nobody reports again, also of a breaker that starts closed', async () => {
    const { openAlerts } = keptInMemory()
    const first = notifierWorld({ openAlerts })
    const { clock } = first
    await first.notifier.notify(opened)
    await first.lose()
    await first.notifier.close()
    // Nothing can be reported while no process runs.
    await clock.advance(60 * MINUTE)
    const next = notifierWorld({ openAlerts, clock })
    await clock.advance(14 * MINUTE)
    expect(next.alerts()).toEqual([])
    await clock.advance(2 * MINUTE)
    expect(told(next.alerts()).toSorted()).toEqual(['resolved breaker_opened 0', 'resolved dead_letter 0'])
    await next.notifier.close()
    const third = notifierWorld({ openAlerts, clock })
    await clock.advance(60 * MINUTE)
    expect(third.alerts()).toEqual([])
    await third.notifier.close()
  })

  it('S7, B16: tells alerts also when they cannot be read, are damaged, or are never answered for', async () => {
    const write = async () => {
      throw new Error('disk full')
    }
    const reads: OpenAlerts['read'][] = [
      () => Promise.reject(new Error('no permission')),
      () => new Promise(() => {}),
      async () => '{"v":1,"alerts":[{"key":7}]}',
      async () => 'half of a f',
    ]
    for (const read of reads) {
      const { notifier, alerts, clock, make } = notifierWorld({ openAlerts: { read, write } })
      const notified = notifier.notify(letterNotice(make.letter()))
      await clock.advance(3_000)
      await notified
      await clock.advance(0)
      expect(told(alerts())).toEqual(['firing dead_letter 1'])
      await notifier.close()
    }
  })

  it('S7: leaves alerts of the server to the server, which may have told their ends elsewhere', async () => {
    const { openAlerts } = keptInMemory()
    const first = notifierWorld({ openAlerts })
    const notice = { kind: 'replay_halted', at: 0, firing: true, replay: { id: 'r1' } } as const
    await first.notifier.notify(notice)
    await first.notifier.close()
    const next = notifierWorld({ openAlerts, clock: first.clock })
    await next.notifier.notify(notice)
    await first.clock.advance(0)
    expect(told(next.alerts())).toEqual(['firing replay_halted 1'])
    await next.notifier.close()
  })

  it('S7: keeps alerts in a file that only its owner reads, and writes it as a whole', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'lazaret-alerts-'))
    const path = join(dir, 'var', 'alerts.json')
    const kept = fileOpenAlerts({ path })
    expect(await kept.read()).toBeUndefined()
    await kept.write('first')
    await writeFile(`${path}.next`, 'a part of the sec')
    expect(await kept.read()).toBe('first')
    await kept.write('second')
    expect(await kept.read()).toBe('second')
    expect(await readdir(join(dir, 'var'))).toEqual(['alerts.json'])
    expect((await stat(path)).mode & 0o077).toBe(0)
    await rm(dir, { recursive: true })
  })

  it('S7: a wrong value of openAlerts is one clear error', () => {
    expect(() => notifierWorld({ openAlerts: {} as OpenAlerts })).toThrow(/openAlerts/)
    expect(() => fileOpenAlerts({ path: '' })).toThrow(/path/)
  })
})
