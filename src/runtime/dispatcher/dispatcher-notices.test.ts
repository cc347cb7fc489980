import { describe, expect, it } from 'vitest'
import { memorySink } from '../../adapters/memory/index.ts'
import { memoryDeadLetters } from '../../adapters/memory/letters/dead-letters.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import type { Notice, Notifier } from '../../ports/notifier.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { createDispatcher } from './dispatcher.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'
import { asJob } from './track/tracking-mode.ts'

/** Two sinks, one of which takes nothing. */
function setUp(options: Partial<DispatcherOptions> = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const notices: Notice[] = []
  const letters = memoryDeadLetters()
  const events = createDispatcher({
    sinks: { well: memorySink(), sick: { write: () => Promise.reject(new PermanentError('no')) } },
    deadLetters: letters,
    notifier: { notify: async notice => void notices.push(notice) },
    observer: recorder.observer,
    clock,
    ...options,
  } as DispatcherOptions)
  return { clock, recorder, notices, letters, events }
}

describe('a dispatcher with a notifier', () => {
  it('S7: tells of what a sink was given up on for, and of nothing else', async () => {
    const { events, notices, letters } = setUp({ source: '/shop' })
    await events.track({ type: 'order.paid', payload: { card: 'hush' } })
    const [letter] = (await letters.list()).letters
    expect(notices).toMatchObject([
      {
        kind: 'dead_letter',
        at: letter!.updatedAt,
        failed: {
          eventId: letter!.event.id,
          type: 'order.paid',
          source: '/shop',
          target: 'sick',
          handler: 'sick',
          lastError: 'PermanentError: no',
          attempts: 1,
          letterId: letter!.id,
        },
      },
    ])
    expect(JSON.stringify((notices[0] as { failed: unknown }).failed)).not.toContain('hush')
    await events.close()
  })

  it('S7: tells when the letter is safe: in the store, or in the spill, and not before', async () => {
    let isDown = true
    const store = memoryDeadLetters()
    const deadLetters = {
      send: async (letter: Parameters<typeof store.send>[0]) => {
        if (isDown) throw new Error('disk full')
        await store.send(letter)
      },
      close: async () => {},
    }
    const { events, notices, clock } = setUp({ deadLetters })
    void events.track({ type: 'x' }).catch(() => {})
    await clock.advance(10_000)
    expect(notices).toEqual([])
    isDown = false
    await clock.advance(60_000)
    expect(notices).toHaveLength(1)
    await events.close()

    isDown = true
    const spill = { send: async () => {}, drain: async () => 0, size: async () => 1, close: async () => {} }
    const spilling = setUp({ deadLetters, spill })
    await spilling.events.track({ type: 'x' })
    expect(spilling.notices).toHaveLength(1)
    await spilling.events.close()
  })

  it('S7: tells once of a letter that is saved twice, and not of one that is not kept', async () => {
    const sick = { write: () => Promise.reject(new PermanentError('no')) }
    const { events, notices, letters } = setUp({ sinks: { sick, sicker: sick }, filter: { never: ['ping'] } })
    await asJob('Report', () => events.track({ type: 'x' }))
    await asJob('Report', () => events.track({ type: 'ping' }))
    const reasons = (await letters.list()).letters.map(({ cycle }) => cycle.reason)
    expect(reasons).toEqual(['tracking_failed_in_job', 'tracking_failed_in_job'])
    expect(notices.map(notice => (notice as { failed: { handler: string } }).failed.handler).sort()).toEqual([
      'sick',
      'sicker',
    ])
    await events.close()
  })

  it('S7: a notifier that fails changes nothing for the event, and is closed with its last user', async () => {
    let closed = 0
    const notifier: Notifier = {
      notify: async () => {
        throw new Error('no mail today')
      },
      close: async () => void closed++,
    }
    const [one, other] = [setUp({ notifier }), setUp({ notifier })]
    const result = await one.events.track({ type: 'x' })
    expect(result.sinks).toMatchObject({ sick: { outcome: 'dead_lettered' }, well: { outcome: 'delivered' } })
    expect(one.recorder.of('noticeFailed')).toMatchObject([{ channel: 'events', name: 'sick' }])
    await one.events.close()
    expect(closed).toBe(0)
    await other.events.close()
    expect(closed).toBe(1)
  })
})
