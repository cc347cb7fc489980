import { describe, expect, it } from 'vitest'
import type { AlertKind, AlertMessage, Occurrence } from './alert.ts'
import { type AlertInput, type AlertState, decideAlerts, NO_ALERTS } from './decide.ts'
import type { AlertPolicy } from './policy.ts'

const MINUTE = 60_000
const POLICY: AlertPolicy = { repeatMs: 5 * MINUTE, resolveAfterMs: 15 * MINUTE, perMinute: 3, maxOpen: 10 }

const occurrence = (key: string, kind: AlertKind = 'dead_letter'): Occurrence => ({
  key,
  kind,
  severity: kind === 'breaker_opened' ? 'critical' : 'error',
  facts: { title: `about ${key}`, summary: '' },
})

/** A board that is asked whenever it wants to be, as the shell does it. */
function world(policy: AlertPolicy = POLICY) {
  let board: AlertState = NO_ALERTS
  let wakeAt: number | undefined
  let now = 1_000_000
  const said: AlertMessage[] = []
  const put = (input: AlertInput) => {
    const decision = decideAlerts(board, input, now, policy)
    board = decision.board
    wakeAt = decision.wakeAt
    said.push(...decision.messages)
    return decision.messages
  }
  return {
    said,
    see: (key: string, kind?: AlertKind) => put({ what: 'seen', occurrence: occurrence(key, kind) }),
    end: (key: string) => put({ what: 'over', key, by: 'recovery' }),
    endElsewhere: (key: string) =>
      put({
        what: 'over',
        key,
        by: 'recovery',
        elsewhere: { since: 1_000, occurrence: occurrence(key, 'channel_alert') },
      }),
    close: () => put({ what: 'close' }),
    pass(ms: number) {
      const until = now + ms
      const before = said.length
      for (let asked = 0; wakeAt !== undefined && wakeAt <= until; asked++) {
        if (asked > 1_000) throw new Error('it wants to be asked without end')
        now = Math.max(now, wakeAt)
        put({ what: 'tick' })
      }
      now = until
      return said.slice(before)
    },
    setBack(ms: number) {
      now -= ms
    },
    open: () => board.open.size,
    wakeAt: () => wakeAt,
  }
}

const told = (messages: readonly AlertMessage[]) =>
  messages.map(({ status, key, newCount }) => [status, key, newCount])

describe('an alert', () => {
  it('S7, K5: the first is told at once, and says that it is one', () => {
    for (const kind of ['dead_letter', 'poison_quarantined', 'breaker_opened'] as const)
      expect(world().see('a', kind)).toMatchObject([{ status: 'firing', key: 'a', count: 1, newCount: 1 }])
  })

  it('S7: more of the same are counted, and told as one update every repeatMs', () => {
    const { see, pass } = world()
    see('a')
    for (let n = 0; n < 40; n++) expect(see('a')).toEqual([])
    expect(pass(5 * MINUTE - 1)).toEqual([])
    expect(pass(1)).toMatchObject([{ status: 'update', key: 'a', count: 41, newCount: 40 }])
    expect(pass(5 * MINUTE)).toEqual([])
  })

  it('S7: ignores other alerts', () => {
    const { see, said } = world()
    see('a')
    see('b')
    see('a')
    expect(told(said)).toEqual([
      ['firing', 'a', 1],
      ['firing', 'b', 1],
    ])
  })

  it('S7: dead letters are over after resolveAfterMs without one, told once', () => {
    const { see, pass, open } = world()
    see('a')
    pass(10 * MINUTE)
    see('a')
    expect(pass(15 * MINUTE - 1)).toMatchObject([])
    expect(pass(1)).toMatchObject([
      { status: 'resolved', key: 'a', count: 2, newCount: 0, resolvedBy: 'silence' },
    ])
    expect(pass(60 * MINUTE)).toEqual([])
    expect(open()).toBe(0)
  })

  it('S7: its end says how long it was, and what was not told yet', () => {
    const { see, end, pass } = world()
    see('a', 'breaker_opened')
    pass(MINUTE)
    see('a', 'breaker_opened')
    const [resolved, ...more] = end('a')
    expect(resolved).toMatchObject({ status: 'resolved', newCount: 1, count: 2, resolvedBy: 'recovery' })
    expect(resolved!.at - resolved!.since).toBe(MINUTE)
    expect(more).toEqual([])
    expect(end('a')).toEqual([])
  })

  it('S7: an open breaker is not over because nothing happens', () => {
    const { see, pass, end } = world()
    see('a', 'breaker_opened')
    expect(pass(24 * 60 * MINUTE)).toEqual([])
    expect(told(end('a'))).toEqual([['resolved', 'a', 0]])
  })

  it('S7: an end of what was never told is nobody’s news', () => {
    expect(world().end('a')).toEqual([])
  })

  it('S7: an end of what a process before told is told, when it is its turn', () => {
    const { see, endElsewhere, pass, said, open } = world()
    for (const key of ['a', 'b', 'c']) see(key)
    expect(endElsewhere('x')).toEqual([])
    expect(pass(MINUTE)).toMatchObject([{ status: 'resolved', key: 'x', since: 1_000, newCount: 0 }])
    for (let n = 0; n < 10; n++) {
      pass(MINUTE)
      see(`breaker ${n}`, 'breaker_opened')
    }
    // No room to wait for its turn.
    expect(open()).toBe(10)
    expect(endElsewhere('y')).toMatchObject([{ status: 'resolved', key: 'y' }])
    expect(open()).toBe(10)
    expect(said.filter(({ key }) => key === 'y')).toHaveLength(1)
  })

  it('S7: with nothing open it does not want to be asked', () => {
    const { see, end, wakeAt } = world()
    see('a', 'breaker_opened')
    end('a')
    expect(wakeAt()).toBeUndefined()
  })
})

describe('too many alerts', () => {
  it('S7: those beyond the limit are one digest, a minute later', () => {
    const { see, pass, said } = world()
    for (const key of 'abcdefg') see(key)
    see('g')
    expect(told(said)).toEqual([...'abc'].map(key => ['firing', key, 1]))
    const [digest, ...more] = pass(MINUTE)
    expect(digest).toMatchObject({ status: 'firing', kind: 'digest', alerts: 4, newCount: 4 })
    expect(digest?.facts).toEqual({
      title: 'And 4 more alerts',
      summary: '4 notices of 4 causes beyond the limit of messages: about d; about e; about f; about g',
    })
    expect(more).toEqual([])
  })

  it('S7: one of the digest that goes on is told by itself when there is room', () => {
    const { see, pass } = world()
    for (const key of 'abcd') see(key)
    see('d')
    expect(told(pass(5 * MINUTE)).slice(1)).toEqual([['firing', 'd', 1]])
  })

  it('S7: a breaker that the digest counted is told by itself as soon as there is room', () => {
    const { see, pass, end } = world()
    for (const key of 'abc') see(key)
    see('d', 'breaker_opened')
    expect(told(pass(MINUTE))).toEqual([
      ['firing', 'd', 0],
      ['firing', 'digest', 1],
    ])
    expect(told(end('d'))).toEqual([['resolved', 'd', 0]])
  })

  it('S7: an end waits for room and is never lost', () => {
    const { see, end, pass, said } = world()
    for (const key of 'abc') see(key, 'breaker_opened')
    for (const key of 'abc') expect(end(key)).toEqual([])
    pass(MINUTE)
    expect(told(said).slice(3)).toEqual([...'abc'].map(key => ['resolved', key, 0]))
  })

  it('S7: what comes back before its end was told goes on', () => {
    const { see, end, pass } = world()
    for (const key of 'abc') see(key, 'breaker_opened')
    end('a')
    see('a', 'breaker_opened')
    expect(pass(4 * MINUTE)).toEqual([])
    expect(told(pass(MINUTE))).toEqual([['update', 'a', 1]])
  })

  it('S7: the digest ends, too', () => {
    const { see, pass } = world()
    for (const key of 'abcd') see(key)
    expect(told(pass(60 * MINUTE)).filter(([, key]) => key === 'digest')).toEqual([
      ['firing', 'digest', 1],
      ['resolved', 'digest', 0],
    ])
  })

  it('S7: memory is bounded: those nobody was told of make room, those people wait for do not', () => {
    const { see, pass, end, open } = world({ ...POLICY, maxOpen: 4 })
    for (const key of 'abc') see(key, 'breaker_opened')
    for (let n = 0; n < 100; n++) see(`storm ${n}`)
    expect(pass(MINUTE)).toMatchObject([{ kind: 'digest', alerts: 100, newCount: 100 }])
    expect(told(end('a'))).toEqual([['resolved', 'a', 0]])
    expect(open()).toBeLessThanOrEqual(4)
  })

  it('S7: at the end everything that waits is told', () => {
    const { see, end, close, said } = world()
    for (const key of 'abc') see(key, 'breaker_opened')
    see('d')
    see('a', 'breaker_opened')
    end('b')
    expect(told(close())).toEqual([
      ['resolved', 'b', 0],
      ['firing', 'digest', 2],
    ])
    expect(said.reduce((sum, { newCount }) => sum + newCount, 0)).toBe(5)
  })
})

describe('a clock that is set back', () => {
  it('S7: holds nothing up', () => {
    const { see, setBack, pass } = world()
    for (const key of 'abcd') see(key)
    setBack(10 * 60 * MINUTE)
    see('a')
    expect(told(pass(MINUTE))).toEqual([['firing', 'digest', 1]])
    expect(told(pass(4 * MINUTE))).toEqual([['update', 'a', 1]])
  })
})
