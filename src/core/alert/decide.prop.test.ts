import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AlertKind, AlertMessage } from './alert.ts'
import { type AlertInput, type AlertState, decideAlerts, NO_ALERTS } from './decide.ts'
import type { AlertPolicy } from './policy.ts'

const MINUTE = 60_000
const KINDS: readonly AlertKind[] = ['dead_letter', 'breaker_opened', 'poison_quarantined']

type Step =
  | { readonly do: 'see'; readonly key: number }
  | { readonly do: 'end'; readonly key: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'setBack'; readonly ms: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('see' as const), key: fc.nat(11) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), key: fc.nat(11) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('pass' as const),
        ms: fc.oneof(fc.nat(2_000), fc.nat(20 * MINUTE)),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('setBack' as const), ms: fc.nat(60 * MINUTE) }) },
  ),
  { maxLength: 150 },
)

const policies: fc.Arbitrary<AlertPolicy> = fc.record({
  repeatMs: fc.constantFrom(1, 30_000, 5 * MINUTE),
  resolveAfterMs: fc.constantFrom(1_000, 15 * MINUTE),
  perMinute: fc.integer({ min: 1, max: 5 }),
  maxOpen: fc.integer({ min: 1, max: 8 }),
})

interface Said extends AlertMessage {
  /** By a clock that nobody sets. */
  readonly elapsed: number
}

/** Runs the steps as the shell would: asked when it wants to be, and told of what happens. */
function run(story: readonly Step[], policy: AlertPolicy) {
  let board: AlertState = NO_ALERTS
  let elapsed = 0
  let offset = 1_000_000_000
  /** On the clock that nobody sets, as timers go. */
  let wakeAt: number | undefined
  let seen = 0
  let mostOpen = 0
  const said: Said[] = []
  const put = (input: AlertInput) => {
    const decision = decideAlerts(board, input, elapsed + offset, policy)
    board = decision.board
    wakeAt = decision.wakeAt === undefined ? undefined : Math.max(elapsed, decision.wakeAt - offset)
    mostOpen = Math.max(mostOpen, board.open.size)
    said.push(...decision.messages.map(message => ({ ...message, elapsed })))
  }
  for (const step of story) {
    if (step.do === 'see') {
      const kind = KINDS[step.key % KINDS.length]!
      const facts = { title: `about ${step.key}`, summary: '' }
      put({ what: 'seen', occurrence: { key: String(step.key), kind, severity: 'error', facts } })
      seen++
    } else if (step.do === 'end') put({ what: 'over', key: String(step.key), by: 'recovery' })
    else if (step.do === 'setBack') offset -= step.ms
    else {
      const until = elapsed + step.ms
      for (let asked = 0; wakeAt !== undefined && wakeAt <= until; asked++) {
        if (asked > 10_000) throw new Error('it wants to be asked without end')
        elapsed = wakeAt
        put({ what: 'tick' })
      }
      elapsed = until
    }
  }
  const beforeClose = said.length
  put({ what: 'close' })
  return { said, seen, mostOpen, beforeClose, board }
}

const property = (check: (result: ReturnType<typeof run>, policy: AlertPolicy) => void) =>
  fc.assert(
    fc.property(steps, policies, (story, policy) => check(run(story, policy), policy)),
    { numRuns: 300 },
  )

describe('whatever happens', () => {
  it('S7: every firing is followed by exactly one end or stays open; nothing else is told of what is not', () => {
    property(({ said, board }) => {
      const firing = new Set<string>()
      for (const { status, key } of said) {
        expect(firing.has(key), `${status} of ${key}`).toBe(status !== 'firing')
        if (status === 'firing') firing.add(key)
        if (status === 'resolved') firing.delete(key)
      }
      const open = [...board.open.values()].filter(({ phase }) => phase.is === 'told')
      firing.delete('digest')
      expect([...firing].sort()).toEqual(open.map(({ key }) => key).sort())
    })
  })

  it('S7: what is told adds up to what happened', () => {
    property(({ said, seen }) => {
      expect(said.reduce((sum, { newCount }) => sum + newCount, 0)).toBe(seen)
    })
  })

  it('S7: no minute has more messages than the limit, and one digest', () => {
    property(({ said, beforeClose }, { perMinute }) => {
      const times = (isDigest: boolean) =>
        said
          .slice(0, beforeClose)
          .filter(({ kind }) => (kind === 'digest') === isDigest)
          .map(({ elapsed }) => elapsed)
      const most = (at: readonly number[], limit: number) =>
        at.every((time, index) => index < limit || time - at[index - limit]! >= MINUTE)
      expect(most(times(false), perMinute)).toBe(true)
      expect(most(times(true), 1)).toBe(true)
    })
  })

  it('S7: no more alerts are kept than the limit says', () => {
    property(({ mostOpen }, { maxOpen }) => {
      expect(mostOpen).toBeLessThanOrEqual(maxOpen)
    })
  })

  it('S7: a board that was decided upon is still what it was', () => {
    fc.assert(
      fc.property(policies, policy => {
        const first = decideAlerts(NO_ALERTS, { what: 'tick' }, 1, policy)
        const occurrence = {
          key: 'a',
          kind: 'dead_letter',
          severity: 'error',
          facts: { title: '', summary: '' },
        } as const
        decideAlerts(first.board, { what: 'seen', occurrence }, 2, policy)
        expect(first.board.open.size).toBe(0)
        expect(NO_ALERTS.open.size).toBe(0)
      }),
    )
  })
})
