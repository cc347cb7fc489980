import { describe, expect, it } from 'vitest'
import { consumerWorld, refused } from '../../../test/support/consumer-world.ts'
import { letterNotice, MINUTE, notifierWorld, told } from '../../../test/support/notifier-world.ts'
import { memorySink } from '../../adapters/memory/index.ts'
import { createMasks } from '../../core/dead-letter/masks.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { combineObservers } from '../../runtime/observe.ts'
import { createNotifier } from './notifier.ts'

const failed = (message: string) => Object.assign(new Error(message), { code: 'E_BILLING' })

describe('an event that is given up on', () => {
  it('S7: is an alert with event id, type, source, target, handler, last error and attempts, and no payload', async () => {
    const { lose, alerts, clock, notifier, make } = notifierWorld({
      service: 'shop',
      consoleUrl: 'https://lazaret.example/',
      runbooks: { dead_letter: 'https://wiki.example/dead-letters' },
    })
    const event = make.event({ source: '/shop/checkout', payload: { card: 'hush' } })
    await lose({ event, handler: 'billing' })
    await clock.advance(0)
    const [alert] = alerts()
    expect(alert).toMatchObject({
      v: 1,
      status: 'firing',
      kind: 'dead_letter',
      severity: 'error',
      title: 'Dead letters in orders: Error: connect ECONNREFUSED 127.0.0.1:5432',
      service: 'shop',
      channel: 'orders',
      count: 1,
      failed: {
        eventId: event.id,
        type: 'order.placed',
        source: '/shop/checkout',
        target: 'billing',
        handler: 'billing',
        lastError: 'Error: connect ECONNREFUSED 127.0.0.1:5432',
        attempts: 1,
      },
    })
    const { letterId } = alert!.failed!
    expect(alert?.links).toEqual([
      { text: 'Letter', href: `https://lazaret.example/letters/${encodeURIComponent(letterId)}` },
      { text: 'Group', href: `https://lazaret.example/groups/${alert?.group}` },
      { text: 'Channel', href: 'https://lazaret.example/letters?channel=orders' },
      { text: 'Runbook', href: 'https://wiki.example/dead-letters' },
    ])
    expect(JSON.stringify(alerts())).not.toContain('hush')
    await notifier.close()
  })

  it('S7: one alert for each cause: channel, handler and fingerprint tell them apart', async () => {
    const { lose, alerts, clock, notifier } = notifierWorld()
    await lose()
    await lose()
    await lose({ handler: 'mail' })
    await lose({ channel: 'invoices' })
    await lose({ error: failed('another') })
    await lose({}, 'poison_quarantined')
    await clock.advance(0)
    expect(told(alerts())).toEqual([
      'firing dead_letter 1',
      'firing dead_letter 1',
      'firing dead_letter 1',
      'firing dead_letter 1',
      'firing poison_quarantined 1',
    ])
    expect(new Set(alerts().map(({ key }) => key)).size).toBe(5)
    await notifier.close()
  })

  it('S7: names that look like several parts of a key are not taken for them', async () => {
    const { lose, alerts, clock, notifier } = notifierWorld()
    await lose({ channel: 'a', handler: 'b/c' })
    await lose({ channel: 'a', handler: 'b' })
    await clock.advance(0)
    expect(new Set(alerts().map(({ key }) => key)).size).toBe(2)
    await notifier.close()
  })

  it('S7: goes on as an update and ends when it has not happened for a while', async () => {
    const { lose, alerts, clock, notifier } = notifierWorld()
    await lose()
    for (let n = 0; n < 7; n++) await lose()
    await clock.advance(5 * MINUTE)
    await clock.advance(20 * MINUTE)
    expect(told(alerts())).toEqual(['firing dead_letter 1', 'update dead_letter 7', 'resolved dead_letter 0'])
    expect(alerts()[1]?.summary).toMatch(/^7 more, 8 in total in 5 min\. Latest: Event /)
    expect(alerts()[2]).toMatchObject({ count: 8, resolvedBy: 'silence', durationMs: 15 * MINUTE })
    expect(notifier.health().open).toEqual([])
    await notifier.close()
  })

  it('S7: is told without what its error should not have said', async () => {
    const { lose, alerts, clock, notifier } = notifierWorld({
      masks: createMasks({ patterns: [/AC\d{4}/] }),
    })
    await lose({
      error: new Error(`no answer from postgres://shop:hunter2@db for AC1234 ${'x'.repeat(5_000)}`),
    })
    await clock.advance(0)
    const text = JSON.stringify(alerts())
    expect(text).not.toMatch(/hunter2|AC1234/)
    expect(text.length).toBeLessThan(5_000)
    await notifier.close()
  })
})

describe('a consumer with a notifier', () => {
  it('S7, K5: tells of letters, and through its observer of breakers and spilled letters, each with its end', async () => {
    const { notifier, alerts, clock } = notifierWorld()
    let isSick = true
    const { consumer, publish } = consumerWorld({
      clock,
      name: 'billing',
      retry: { attempts: 1 },
      breaker: { failures: 2, openMs: 1_000, successes: 1 },
      handle: async ({ payload }) => {
        if (payload === 'bad') throw new PermanentError('never')
        if (isSick) throw refused()
      },
      notifier,
      observer: combineObservers({}, notifier.observer),
    })
    await consumer.start()
    await publish('bad')
    await publish('a', 'b')
    await clock.advance(500)
    expect(told(alerts()).sort()).toEqual([
      'firing breaker_opened 1',
      'firing dead_letter 1',
      'firing dead_letter 1',
    ])
    isSick = false
    await publish('c')
    await clock.advance(MINUTE)
    expect(told(alerts())).toContain('resolved breaker_opened 0')
    const { observer } = notifier
    observer.letterWriteFailed?.({ channel: 'orders', name: 'billing', error: new Error('disk full') })
    observer.letterSpilled?.({ channel: 'orders', name: 'billing', letter: {} as never })
    observer.spillDrained?.({ count: 1 })
    await clock.advance(0)
    expect(alerts().slice(-2)).toMatchObject(
      [
        { status: 'firing', kind: 'letters_spilled', severity: 'critical', summary: /disk full/ },
        { status: 'resolved', kind: 'letters_spilled', resolvedBy: 'recovery' },
      ].map(({ summary, ...rest }) =>
        summary === undefined ? rest : { ...rest, summary: expect.stringMatching(summary) },
      ),
    )
    await consumer.close()
    await notifier.close()
  })

  it('B7: spilled letters are an alert until the spill is empty', async () => {
    const { notifier, alerts, clock } = notifierWorld()
    const { observer } = notifier
    observer.spillDrainFailed?.({ left: 3, error: new Error('the key is missing'), letter: undefined })
    observer.spillDrained?.({ count: 2, left: 1 })
    await clock.advance(0)
    expect(told(alerts())).toEqual(['firing letters_spilled 1'])
    expect(alerts()[0]?.summary).toContain('the key is missing')
    observer.spillDrained?.({ count: 1 })
    await clock.advance(0)
    expect(told(alerts())).toContain('resolved letters_spilled 0')
    await notifier.close()
  })

  it('K7: a channel over its limit is an alert until it is within it again', async () => {
    const { notifier, alerts, clock } = notifierWorld()
    const notice = { kind: 'channel_alert', at: clock.now(), channel: 'orders', rule: 'age' } as const
    await notifier.notify({ ...notice, firing: true, value: 45 * MINUTE, limit: 30 * MINUTE })
    await notifier.notify({ ...notice, firing: false, value: MINUTE, limit: 30 * MINUTE })
    await clock.advance(0)
    expect(alerts()).toMatchObject([
      {
        status: 'firing',
        severity: 'warning',
        title: 'Channel orders: oldest dead letter has waited 45 min',
        summary: 'oldest dead letter has waited 45 min; the limit is 30 min.',
        limit: { rule: 'age', value: 45 * MINUTE, limit: 30 * MINUTE },
      },
      { status: 'resolved' },
    ])
    await notifier.close()
  })
})

describe('targets', () => {
  it('S7: get what their route says, and digests all', async () => {
    const [chat, pager] = [memorySink(), memorySink()]
    const { lose, notifier, clock } = notifierWorld({
      to: { chat, pager },
      route: { pager: { atLeast: 'critical' }, chat: { kinds: ['dead_letter'] } },
      perMinute: 2,
    })
    await lose()
    await notifier.notify({ kind: 'breaker_opened', at: 0, name: 'payments' })
    await lose({ handler: 'other' })
    await clock.advance(MINUTE)
    const kinds = (sink: typeof chat) => sink.events.map(({ payload }) => (payload as { kind: string }).kind)
    expect(kinds(chat)).toEqual(['dead_letter', 'digest'])
    expect(kinds(pager)).toEqual(['breaker_opened', 'digest'])
    expect(pager.events[0]?.headers['severity']).toBe('fatal')
    await notifier.close()
  })

  it('F7: faults are told at once', () => {
    const faulty = {
      to: {},
      deadLetters: undefined,
      route: 3,
      perMinute: 0,
      consoleUrl: 'x',
      delivery: { timeoutMs: -1 },
    }
    expect(() => createNotifier(faulty as never)).toThrow(/notifier: 6 faults/)
    const { deadLetters } = notifierWorld()
    const to = { ops: memorySink() }
    expect(() => createNotifier({ to, deadLetters, route: { pager: {} } as never })).toThrow(
      "unknown target 'pager'; the targets are ops",
    )
  })
})

describe('a group that people have muted', () => {
  const groups = (state: () => string) => ({
    asked: 0,
    async get() {
      this.asked++
      return { state: state() } as never
    },
  })

  it('S7: raises no alert, and one that is open ends', async () => {
    let state = 'open'
    const asked = groups(() => state)
    const { lose, alerts, clock, notifier } = notifierWorld({ groups: asked })
    await Promise.all(Array.from({ length: 50 }, () => lose()))
    await clock.advance(11_000)
    expect(asked.asked).toBe(1)
    state = 'muted'
    await lose()
    await clock.advance(MINUTE)
    await lose()
    await clock.advance(60 * MINUTE)
    expect(told(alerts())).toEqual(['firing dead_letter 1', 'resolved dead_letter 49'])
    expect(alerts()[1]).toMatchObject({ resolvedBy: 'muted' })
    await notifier.close()
  })

  it('S7: is told of all the same when nobody can say that it is muted', async () => {
    for (const get of [() => Promise.reject(new Error('down')), () => new Promise<never>(() => {})]) {
      const { lose, alerts, clock, notifier } = notifierWorld({ groups: { get } })
      void lose()
      await clock.advance(3_000)
      expect(told(alerts())).toEqual(['firing dead_letter 1'])
      await notifier.close()
    }
  })
})

describe('closing', () => {
  it('S7: tells what waits, once, and takes nothing more', async () => {
    const { lose, alerts, notifier, make } = notifierWorld()
    await lose()
    await lose()
    const letter = make.letter()
    await Promise.all([notifier.close(), notifier.close()])
    expect(told(alerts())).toEqual(['firing dead_letter 1', 'firing digest 1'])
    await expect(notifier.notify(letterNotice(letter))).rejects.toMatchObject({ code: 'LAZARET_CLOSED' })
  })
})
