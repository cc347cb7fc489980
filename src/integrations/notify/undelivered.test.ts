import { describe, expect, it } from 'vitest'
import { alertsIn, letterNotice, MINUTE, notifierWorld, told } from '../../../test/support/notifier-world.ts'
import { memorySink } from '../../adapters/memory/index.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { flakySink } from '../../testing/sinks.ts'

const down = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const gone = () => Object.assign(new Error('no_service'), { status: 404 })
const delivery = {
  retry: { attempts: 3, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
  breaker: 'off',
} as const

describe('a target that does not take alerts', () => {
  it('S7: is tried again, and gets the alert', async () => {
    const sink = memorySink()
    const { lose, clock, notifier, letters } = notifierWorld({
      to: { ops: flakySink(sink, write => (write < 3 ? down() : undefined)) },
      delivery,
    })
    await lose()
    await clock.advance(MINUTE)
    expect(told(alertsIn(sink))).toEqual(['firing dead_letter 1'])
    expect(await letters()).toEqual([])
    await notifier.close()
  })

  it('S7: leaves a dead letter, which the others are told of; replayed it arrives, and they hear that too', async () => {
    const [chat, pager] = [memorySink(), memorySink()]
    let isDown = true
    const { lose, clock, notifier, letters } = notifierWorld({
      to: { chat: flakySink(chat, () => (isDown ? down() : undefined)), pager },
      delivery,
    })
    await lose()
    await clock.advance(MINUTE)
    const [letter] = await letters()
    expect(letter).toMatchObject({
      channel: 'lazaret.alerts',
      handler: 'chat',
      event: { type: 'lazaret.alert' },
    })
    expect(alertsIn(pager)).toMatchObject([
      { kind: 'dead_letter' },
      { status: 'firing', kind: 'alert_undelivered', target: 'chat', title: 'Alerts do not reach chat' },
    ])
    expect(alertsIn(pager)[1]?.summary).toContain('ECONNREFUSED')
    isDown = false
    await notifier.resend(letter!)
    await clock.advance(0)
    expect(told(alertsIn(chat))).toEqual(['firing dead_letter 1'])
    expect((await letters())[0]?.state).toBe('resolved')
    expect(alertsIn(pager)[2]).toMatchObject({ status: 'resolved', kind: 'alert_undelivered' })
    await notifier.close()
  })

  it('S7: when none takes any, that is the end of it: no alert about an alert about an alert', async () => {
    const { lose, clock, notifier, letters } = notifierWorld({
      to: {
        a: flakySink(memorySink(), gone),
        b: flakySink(memorySink(), gone),
        c: flakySink(memorySink(), gone),
      },
      delivery,
    })
    await lose()
    await clock.advance(24 * 60 * MINUTE)
    const kinds = (await letters()).map(({ event }) => (event.payload as { kind: string }).kind)
    // The alert and its end, lost three times each; each target failed twice, and the other two had to get the alert
    // and its end.
    expect(kinds.filter(kind => kind === 'dead_letter')).toHaveLength(2 * 3)
    expect(kinds.filter(kind => kind === 'alert_undelivered')).toHaveLength(2 * 3 * 2 * 2)
    await clock.advance(24 * 60 * MINUTE)
    expect(await letters()).toHaveLength(kinds.length)
    await notifier.close()
  })

  it('S7: a firing that comes after its own end is not sent any more', async () => {
    const sink = memorySink()
    const { notifier, clock, letters } = notifierWorld({
      to: { ops: flakySink(sink, write => (write === 1 ? gone() : undefined)) },
    })
    await notifier.notify({ kind: 'breaker_opened', at: 0, name: 'payments' })
    await notifier.notify({ kind: 'breaker_closed', at: 0, name: 'payments' })
    await clock.advance(MINUTE)
    const [letter] = await letters()
    await notifier.resend(letter!)
    expect(told(alertsIn(sink))).toEqual(['resolved breaker_opened 0'])
    await notifier.notify({ kind: 'breaker_opened', at: 0, name: 'payments' })
    await clock.advance(0)
    expect(told(alertsIn(sink))).toEqual(['resolved breaker_opened 0', 'firing breaker_opened 1'])
    await notifier.close()
  })

  it('S7: an end that comes after the next beginning is not sent any more: it would be taken for that one’s', async () => {
    const sink = memorySink()
    const { notifier, clock } = notifierWorld({
      to: { ops: flakySink(sink, write => (write === 2 ? down() : undefined)) },
      delivery,
    })
    for (const kind of ['breaker_opened', 'breaker_closed', 'breaker_opened'] as const) {
      await notifier.notify({ kind, at: 0, name: 'payments' })
      await clock.advance(100)
    }
    await clock.advance(MINUTE)
    expect(told(alertsIn(sink))).toEqual(['firing breaker_opened 1', 'firing breaker_opened 1'])
    await notifier.close()
  })

  it('S7: after the clock was set back, an alert that begins again is sent immediately', async () => {
    const { notifier, clock, alerts } = notifierWorld()
    for (const kind of ['breaker_opened', 'breaker_closed', 'breaker_opened'] as const) {
      await notifier.notify({ kind, at: 0, name: 'payments' })
      await clock.advance(0)
      if (kind === 'breaker_closed') clock.jump(-60 * MINUTE)
    }
    expect(told(alerts())).toEqual([
      'firing breaker_opened 1',
      'resolved breaker_opened 0',
      'firing breaker_opened 1',
    ])
    await notifier.close()
  })

  it('S7: who handles alerts and gives up on one raises no other, which would go the same way', async () => {
    const { notifier, alerts, clock, make, sink } = notifierWorld()
    await notifier.notify({ kind: 'breaker_opened', at: 0, name: 'payments' })
    await clock.advance(0)
    await notifier.notify(letterNotice(make.letter({ event: sink.events[0]! })))
    await clock.advance(MINUTE)
    expect(told(alerts())).toEqual(['firing breaker_opened 1'])
    await notifier.close()
  })

  it('S7: a dispatcher that fails at the same target is told of once, and that is the end of it', async () => {
    const chat = flakySink(memorySink(), gone)
    const { notifier, clock, deadLetters, letters } = notifierWorld({ to: { chat }, delivery })
    const events = createDispatcher({ sinks: { chat }, deadLetters, notifier, clock })
    for (let n = 0; n < 5; n++) await events.track({ type: 'x' }).catch(() => {})
    await clock.advance(24 * 60 * MINUTE)
    const types = (await letters()).map(({ event }) => event.type)
    expect(types.filter(type => type === 'x')).toHaveLength(5)
    // Its beginning, an update and its end; of alerts that did not arrive nobody is left to be told.
    expect(types.filter(type => type === 'lazaret.alert')).toHaveLength(3)
    await events.close()
    await notifier.close()
  })
})
