import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryBroker, memoryDeadLetters } from '../../adapters/memory/index.ts'
import { PermanentError, RetryAfterError } from '../../core/failure/signals.ts'
import type { Backoff } from '../../core/retry/backoff.ts'
import { exponential } from '../../core/retry/exponential.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { type Recorded, Recorder } from '../../testing/recorder.ts'
import { type Breaker, createBreaker } from '../breaker.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { createEvent } from '../create-event.ts'
import { createDispatcher } from '../dispatcher/dispatcher.ts'
import { resilient } from '../resilient/resilient.ts'
import { sleep } from '../sleep.ts'

const TIMEOUT_MS = 1_000

/** How one attempt goes wrong. */
interface Step {
  readonly kind: 'refused' | 'unknown' | 'permanent' | 'retry-after' | 'ruled' | 'timeout' | 'a text'
  readonly tookMs: number
}

interface Case {
  readonly script: readonly Step[]
  readonly attempts: number
  readonly backoff: Backoff
  readonly maxElapsedMs: number | undefined
  readonly budget: { readonly ratio: number; readonly floorPerSecond: number } | undefined
  readonly chance: number
  /** The clock is set. */
  readonly step?: { readonly atMs: number; readonly byMs: number }
}

const THROWN: Readonly<Record<Exclude<Step['kind'], 'timeout'>, () => unknown>> = {
  refused: () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  unknown: () => new Error('no idea'),
  permanent: () => new PermanentError('never'),
  'retry-after': () => new RetryAfterError('later', { delayMs: 2_500 }),
  ruled: () => new RangeError('by a rule'),
  'a text': () => 'just a text',
}

const cases: fc.Arbitrary<Case> = fc.record({
  script: fc.array(
    fc.record({
      kind: fc.constantFrom<Step['kind']>(
        'refused',
        'unknown',
        'permanent',
        'retry-after',
        'ruled',
        'timeout',
        'a text',
      ),
      tookMs: fc.constantFrom(0, 1, 40, 900),
    }),
    { maxLength: 7 },
  ),
  attempts: fc.integer({ min: 1, max: 6 }),
  backoff: fc.constantFrom(
    exponential({ baseMs: 50, maxMs: 5_000, jitter: 'full' }),
    exponential({ baseMs: 200, maxMs: 60_000, jitter: 'none' }),
    fixed({ delayMs: 30, jitter: 'none' }),
  ),
  maxElapsedMs: fc.option(fc.constantFrom(500, 3_000, 10_000), { nil: undefined }),
  budget: fc.option(
    fc.record({ ratio: fc.constantFrom(0, 1, 2), floorPerSecond: fc.constantFrom(0, 0.1, 0.3) }),
    { nil: undefined },
  ),
  chance: fc.constantFrom(0, 0.25, 0.5, 0.999),
})

/** A failing piece of work, what was seen of it, and the policies that it runs under. */
class Trial {
  readonly clock = new FakeClock()
  readonly recorder = new Recorder()
  readonly breaker: Breaker
  readonly options
  readonly #script: readonly Step[]
  readonly #startedAt: number
  #attempts = 0

  constructor({ script, attempts, backoff, maxElapsedMs, budget, chance, step }: Case) {
    this.#script = script
    this.#startedAt = this.clock.monotonic()
    if (step !== undefined) this.clock.schedule(step.atMs, () => this.clock.jump(step.byMs))
    this.breaker = createBreaker({ failures: 1_000 }, { clock: this.clock })
    this.options = {
      name: 'work',
      clock: this.clock,
      observer: this.recorder.observer,
      random: () => chance,
      breaker: this.breaker,
      timeoutMs: TIMEOUT_MS,
      retry: { attempts, backoff, maxElapsedMs },
      budget,
      classify: [{ when: RangeError, category: 'schema', retryable: true }],
    } as const
  }

  readonly work = async (signal: AbortSignal): Promise<void> => {
    this.recorder.all.push({
      what: 'started' as never,
      event: this.clock.monotonic() - this.#startedAt,
    } as never)
    const step = this.#script[this.#attempts++]
    if (step === undefined) return
    if (step.kind === 'timeout')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    else {
      if (step.tookMs > 0) await sleep(this.clock, step.tookMs)
      throw THROWN[step.kind]()
    }
  }

  /** Runs it to its end, and answers with everything that was decided and told. */
  async seen(): Promise<unknown> {
    await this.clock.advance(3_600_000)
    const { mode, failures } = this.breaker.state as { readonly mode: string; readonly failures?: number }
    return { steps: this.recorder.all.flatMap(stepOf), breaker: { mode, failures } }
  }
}

function stepOf({ what, event }: Recorded): readonly unknown[] {
  if (what === ('started' as never)) return [['started', event]]
  if (what === 'attemptFailed')
    return [[what, event.attempt, event.failure.category, event.failure.retryable]]
  if (what === 'timedOut') return [[what, event.attempt, event.timeoutMs]]
  if (what === 'retryScheduled') return [[what, event.attempt, event.delayMs, event.delayFrom]]
  if (what === 'budgetExhausted') return [[what]]
  if (what === 'gaveUp') return [[what, event.attempts, event.reason]]
  return []
}

async function asCall(of: Case): Promise<unknown> {
  const trial = new Trial(of)
  const call = resilient<[], void>(({ signal }) => trial.work(signal), {
    ...trial.options,
    passContext: true,
  })
  call().catch(() => {})
  return await trial.seen()
}

async function asEvent(of: Case): Promise<unknown> {
  const trial = new Trial(of)
  const { clock } = trial
  const broker = memoryBroker({ clock })
  const consumer = createConsumer({
    ...trial.options,
    broker,
    channel: 'orders',
    deadLetters: memoryDeadLetters(),
    poison: 'off',
    // As for the call and the write: two retries without a wait would have to take turns.
    retryLimit: 'off',
    handle: (_, { signal }) => trial.work(signal),
  })
  await consumer.start()
  await broker.publish([createEvent({ type: 't', channel: 'orders', payload: 1 })])
  const seen = await trial.seen()
  await consumer.close()
  return seen
}

async function asWrite(of: Case): Promise<unknown> {
  const trial = new Trial(of)
  const { clock, recorder, options } = trial
  const { name, observer, random, ...lane } = options
  const dispatcher = createDispatcher({
    sinks: { [name]: { write: (_, { signal }) => trial.work(signal) } },
    deadLetters: memoryDeadLetters(),
    ...lane,
    clock,
    observer: recorder.observer,
    random,
    retryLimit: 'off',
  })
  void dispatcher.track({ type: 't' }, { wait: 'accepted' })
  const seen = await trial.seen()
  await dispatcher.close()
  return seen
}

/** User functions that throw are not among the cases: consumers and producers fall back to defaults of their own. */
describe('a failing event, call and write under the same policy', () => {
  it('B1, B2, E1, E2: start, fail, wait and are given up on alike, and observers are told the same', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async of => {
        const call = await asCall(of)
        expect(await asEvent(of)).toEqual(call)
        expect(await asWrite(of)).toEqual(call)
      }),
      { numRuns: 150 },
    )
  })

  it('E1: the same happens at the same moments when the clock is set by an hour meanwhile', async () => {
    const steps = fc.record({
      atMs: fc.integer({ min: 1, max: 12_000 }),
      byMs: fc.constantFrom(-3_600_000, 3_600_000),
    })
    await fc.assert(
      fc.asyncProperty(cases, steps, async (of, step) => {
        // A budget counts by the wall clock, and forgets its calls when that is set forward.
        const calm = { ...of, budget: undefined }
        const expected = await asCall(calm)
        expect(await asCall({ ...calm, step })).toEqual(expected)
        expect(await asWrite({ ...calm, step })).toEqual(expected)
        // The attempts of an event may be of many processes, which have only their wall clocks in common.
        if (step.byMs < 0) expect(await asEvent({ ...calm, step })).toEqual(expected)
      }),
      { numRuns: 150 },
    )
  })
})
