import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admit, type BreakerOutcome, forceBreaker, initialBreaker, settle } from './breaker.ts'
import { type BreakerPolicy, resolveBreaker } from './options.ts'
import type { BreakerMode, BreakerState } from './state.ts'

const T0 = 1_700_000_000_000
const OPEN_MS = 1_000

type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'ask' }
  | { readonly do: 'settle'; readonly which: number; readonly outcome: BreakerOutcome }
  | { readonly do: 'force'; readonly to: 'open' | 'closed' | 'auto' }

/** The table above BreakerState, by the step that may cause the transition. */
const LEGAL: { readonly [cause in Step['do']]: readonly `${BreakerMode} → ${BreakerMode}`[] } = {
  wait: [],
  ask: ['open → half-open'],
  settle: ['closed → open', 'half-open → open', 'half-open → closed'],
  force: [
    'closed → forced-open',
    'open → forced-open',
    'half-open → forced-open',
    'forced-closed → forced-open',
    'closed → forced-closed',
    'open → forced-closed',
    'half-open → forced-closed',
    'forced-open → forced-closed',
    'forced-open → half-open',
    'forced-closed → closed',
  ],
}

interface Attempt {
  readonly epoch: number
  readonly probe: boolean
}

/** A breaker in use: the state, the attempts that have not settled, and the clock. */
class Walk {
  state: BreakerState
  now = T0
  readonly attempts: Attempt[] = []
  readonly policy: BreakerPolicy
  readonly keep: (state: BreakerState, now: number) => BreakerState

  constructor(policy: BreakerPolicy, keep: Walk['keep'] = state => state) {
    this.policy = policy
    this.keep = keep
    this.state = initialBreaker(policy, T0)
  }

  take(step: Step): BreakerState {
    const before = this.state
    switch (step.do) {
      case 'wait':
        this.now += step.ms
        break
      case 'ask':
        this.ask()
        break
      case 'settle':
        this.settle(step)
        break
      case 'force':
        this.state = forceBreaker(before, step.to, this.now, 'ada')
        break
    }
    this.state = this.keep(this.state, this.now)
    return before
  }

  ask(): boolean {
    const { admitted, state } = admit(this.policy, this.state, this.now)
    this.state = state
    if (admitted) this.attempts.push({ epoch: state.epoch, probe: state.mode === 'half-open' })
    return admitted
  }

  /** `which` counts from the newest: old attempts would drown the probes. */
  settle({ which, outcome }: Step & { do: 'settle' }): void {
    if (this.attempts.length === 0) return
    const [attempt] = this.attempts.splice(-1 - (which % this.attempts.length), 1)
    this.state = settle(this.policy, this.state, attempt!.epoch, outcome, this.now)
  }

  /** Probes that hold a slot: not settled, and not given up (giving up begins a new epoch). */
  get probesInFlight(): number {
    return this.attempts.filter(({ probe, epoch }) => probe && epoch === this.state.epoch).length
  }
}

describe('a breaker in any use', () => {
  it('E16: changes its mode only along the table, and its epoch then or to give up on probes', () => {
    everyStep((walk, before, step) => {
      const { mode, epoch } = walk.state
      if (mode !== before.mode) {
        expect(LEGAL[step.do]).toContain(`${before.mode} → ${mode}`)
        expect(epoch).toBe(before.epoch + 1)
      } else if (step.do === 'ask' && before.mode === 'half-open' && epoch !== before.epoch) {
        expect(before.probesInFlight).toBe(walk.policy.probes)
        expect(walk.now - before.lastProbeAt).toBeGreaterThanOrEqual(OPEN_MS)
        expect(epoch).toBe(before.epoch + 1)
      } else expect(epoch).toBe(before.epoch)
    })
  })

  it('E16: never has more than `probes` probes in flight, and counts them right', () => {
    everyStep(({ state, policy, probesInFlight }) => {
      if (state.mode !== 'half-open') return
      expect(probesInFlight).toBeLessThanOrEqual(policy.probes)
      expect(state.probesInFlight).toBe(probesInFlight)
    })
  })

  it('K4: admits nothing while open and before its time, and a probe from then on', () => {
    everyStep(({ state, policy, now }) => {
      const { admitted } = admit(policy, state, now)
      if (state.mode === 'forced-open') expect(admitted).toBe(false)
      if (state.mode === 'open') expect(admitted).toBe(now >= state.until)
    })
  })

  it('B5: a result that says nothing of the dependency changes a probe count at most', () => {
    everyStep((walk, before, step) => {
      if (step.do !== 'settle' || step.outcome !== 'ignored') return
      if (before.mode !== 'half-open') return expect(walk.state).toBe(before)
      expect(walk.state).toEqual({ ...before, probesInFlight: walk.probesInFlight })
    })
  })

  it('E16: results from before the last transition, and all results while forced, change nothing', () => {
    everyStep(({ state, policy, now }) => {
      const counts = state.mode === 'closed' || state.mode === 'half-open'
      const first = state.mode === 'half-open' ? state.firstEpoch : state.epoch
      for (let epoch = 0; epoch < (counts ? first : state.epoch + 1); epoch++) {
        expect(settle(policy, state, epoch, 'failure', now)).toBe(state)
        expect(settle(policy, state, epoch, 'success', now)).toBe(state)
      }
    })
  })

  it('E18: closes once the dependency is well, whatever hung, crashed or moved the clock before', () => {
    fc.assert(
      fc.property(policies, fc.array(steps, { maxLength: 60 }), (policy, taken) => {
        const walk = new Walk(policy)
        for (const step of taken) walk.take(step)
        walk.take({ do: 'force', to: 'auto' })
        // At most: notice the clock, wait for the first probe, then one pause per success needed.
        for (let round = 0; round < policy.successes + 2 && walk.state.mode !== 'closed'; round++) {
          if (walk.ask()) {
            walk.settle({ do: 'settle', which: 0, outcome: 'success' })
          } else walk.now += policy.openMaxMs ?? policy.openMs
        }
        expect(walk.state.mode).toBe('closed')
      }),
      { numRuns: 500 },
    )
  })
})

const policies = fc
  .record({
    failures: fc.constantFrom<number | 'off'>(1, 2, 3, 'off'),
    threshold: fc.constantFrom(undefined, 0.3, 0.5, 1),
    openMaxMs: fc.constantFrom(undefined, OPEN_MS, OPEN_MS * 3),
    successes: fc.integer({ min: 1, max: 3 }),
    probes: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ threshold, ...rest }) => {
    const rate = threshold ?? (rest.failures === 'off' ? 0.5 : undefined)
    const failureRate = rate === undefined ? undefined : { threshold: rate, windowMs: 5_000, minimumCalls: 3 }
    return resolveBreaker({ ...rest, failureRate, openMs: OPEN_MS }, 'consumer')
  })

/** The clock may go back, a little or a lot. */
const waits = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(1, OPEN_MS / 2, OPEN_MS - 1, OPEN_MS, OPEN_MS * 3) },
  { weight: 1, arbitrary: fc.constantFrom(-OPEN_MS * 20, -OPEN_MS, -1) },
)
const outcomes = fc.constantFrom<BreakerOutcome>('success', 'success', 'failure', 'failure', 'ignored')
const forces = fc.constantFrom<'open' | 'closed' | 'auto'>('open', 'closed', 'auto', 'auto', 'auto', 'auto')

const steps = fc.oneof(
  { weight: 10, arbitrary: fc.constant<Step>({ do: 'ask' }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      which: fc.constantFrom(0, 0, 1, 5),
      outcome: outcomes,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: waits }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('force' as const), to: forces }) },
)

function everyStep(check: (walk: Walk, before: BreakerState, step: Step) => void): void {
  fc.assert(
    fc.property(policies, fc.array(steps, { minLength: 20, maxLength: 80 }), (policy, taken) => {
      const walk = new Walk(policy)
      for (const next of taken) check(walk, walk.take(next), next)
    }),
    { numRuns: 300 },
  )
}
