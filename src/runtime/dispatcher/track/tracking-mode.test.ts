import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../../adapters/memory/sink.ts'
import type { SaveFilterOptions } from '../../../core/dead-letter/filter.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import type { DeadLetterQueue } from '../../../ports/dead-letters.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { createDispatcher } from '../dispatcher.ts'
import { asJob, asRequest, type TrackingContext, trackingScope } from './tracking-mode.ts'

const down: Sink = { write: () => Promise.reject(new RangeError('down')) }
const broken: DeadLetterQueue = { send: () => Promise.reject(new Error('disk full')), close: async () => {} }

function setUp(
  sinks: Record<string, Sink>,
  store?: DeadLetterQueue,
  filter?: SaveFilterOptions,
  failOnErrorIn?: readonly TrackingContext[],
) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const events = createDispatcher({
    sinks,
    deadLetters: store ?? deadLetters,
    clock,
    observer: recorder.observer,
    retry: { attempts: 1, backoff: fixed({ delayMs: 10 }) },
    filter,
    failOnErrorIn,
  })
  const ended = async <T>(promise: Promise<T>): Promise<T | Error> => {
    const caught = promise.catch((error: Error) => error)
    await clock.advance(100)
    return caught
  }
  const letters = async () => (await deadLetters.list()).letters
  return { clock, recorder, events, ended, letters }
}

describe('tracking modes', () => {
  it('E7: outside of any scope, and in a request, a failure to track is thrown', async () => {
    const { events, ended, letters } = setUp({ down })
    const codes = { code: 'LAZARET_TRACKING_FAILED' }
    expect(await ended(events.track({ type: 'x' }))).toMatchObject(codes)
    expect(await ended(asRequest(() => events.track({ type: 'x' })))).toMatchObject(codes)
    expect((await letters()).map(({ cycle }) => cycle.reason)).toEqual([
      'attempts_exhausted',
      'attempts_exhausted',
    ])
  })

  it('E7: in a job it is swallowed, saved with its own reason and the job, and counted', async () => {
    const { events, ended, letters, recorder } = setUp({ down, alsoDown: down })
    const result = await ended(asJob('SendEmailJob', () => events.track({ type: 'x' })))
    expect(result).toMatchObject({ swallowed: { code: 'LAZARET_TRACKING_FAILED' } })
    const saved = (await letters()).map(({ job, cycle, detail }) => ({ job, reason: cycle.reason, detail }))
    const expected = {
      job: 'SendEmailJob',
      reason: 'tracking_failed_in_job',
      detail: { endedBy: 'attempts_exhausted' },
    }
    expect(saved).toEqual([expected, expected])
    expect(recorder.of('trackedInJob')).toEqual([{ job: 'SendEmailJob' }])
    expect(recorder.of('trackingFailureSwallowed')).toMatchObject([
      { job: 'SendEmailJob', errorName: 'RangeError', reason: 'attempts_exhausted' },
    ])
  })

  it('E12: the filter is asked once for each letter, also when a job has it told again', async () => {
    const asked: string[] = []
    const saveIf = ({ handler }: { readonly handler: string }) => asked.push(handler) <= 2
    const { events, ended, letters, recorder } = setUp({ down, alsoDown: down }, undefined, { saveIf })
    await ended(asJob('Nightly', () => events.track({ type: 'x' })))
    expect(asked).toEqual(['down', 'alsoDown'])
    expect((await letters()).map(({ cycle }) => cycle.reason)).toEqual(
      Array(2).fill('tracking_failed_in_job'),
    )
    expect(recorder.count('letterFiltered')).toBe(0)
  })

  it('E7: partial success in a job is not a tracking failure, but its letter names the job', async () => {
    const { events, ended, letters, recorder } = setUp({ up: memorySink(), down })
    expect(await ended(asJob('Nightly', () => events.track({ type: 'x' })))).not.toHaveProperty('swallowed')
    expect(await letters()).toMatchObject([{ job: 'Nightly', cycle: { reason: 'attempts_exhausted' } }])
    expect(recorder.count('trackingFailureSwallowed')).toBe(0)
  })

  it('E7: even when saving fails too, a job goes on', async () => {
    const { events, ended, recorder } = setUp({ down }, broken)
    const result = await ended(asJob('Nightly', () => events.track({ type: 'x' })))
    expect(result).toMatchObject({ sinks: { down: { outcome: 'unsaved' } }, swallowed: {} })
    expect(recorder.count('letterWriteFailed')).toBeGreaterThan(0)
  })

  it('E7: a job, or one call, can ask to be told for compliance work', async () => {
    const { events, ended, letters } = setUp({ down })
    const told = asJob('Audit', () => events.track({ type: 'x' }), { onFailure: 'throw' })
    expect(await ended(told)).toBeInstanceOf(Error)
    expect(await letters()).toMatchObject([{ job: 'Audit', cycle: { reason: 'attempts_exhausted' } }])
    const call = asJob('Nightly', () => events.track({ type: 'x' }, { onFailure: 'throw' }))
    expect(await ended(call)).toBeInstanceOf(Error)
    expect(await ended(events.track({ type: 'x' }, { onFailure: 'swallow' }))).toHaveProperty('swallowed')
  })

  it.each<{ readonly failOnErrorIn: readonly TrackingContext[] | undefined }>([
    { failOnErrorIn: undefined },
    { failOnErrorIn: [] },
    { failOnErrorIn: ['request'] },
    { failOnErrorIn: ['cli'] },
    { failOnErrorIn: ['job'] },
    { failOnErrorIn: ['request', 'cli', 'job'] },
  ])('R13: with $failOnErrorIn, a failure is thrown there and nowhere else', async ({ failOnErrorIn }) => {
    const { events, ended, recorder } = setUp({ down }, undefined, undefined, failOnErrorIn)
    const track = () => events.track({ type: 'x' })
    const contexts = {
      request: () => asRequest(track),
      cli: track,
      job: () => asJob('Nightly', track),
    }
    const thrown: string[] = []
    for (const [context, run] of Object.entries(contexts))
      if ((await ended(run())) instanceof Error) thrown.push(context)
    expect(thrown.sort()).toEqual([...(failOnErrorIn ?? ['cli', 'request'])].sort())
    expect(recorder.count('trackingFailureSwallowed')).toBe(3 - thrown.length)
  })

  it('R13: a job overrides the dispatcher, and a call overrides both', async () => {
    const failing = setUp({ down }, undefined, undefined, ['job'])
    const { events, ended } = failing
    const calm = asJob('Mails', () => events.track({ type: 'x' }), { onFailure: 'swallow' })
    expect(await ended(calm)).toHaveProperty('swallowed')
    const strict = asJob('Mails', () => events.track({ type: 'x' }, { onFailure: 'throw' }), {
      onFailure: 'swallow',
    })
    expect(await ended(strict)).toBeInstanceOf(Error)
    expect(await ended(events.track({ type: 'x' }, { onFailure: 'throw' }))).toBeInstanceOf(Error)
    const quiet = asJob('Mails', () => events.track({ type: 'x' }, { onFailure: 'swallow' }))
    expect(await ended(quiet)).toHaveProperty('swallowed')
  })

  it('R13: an unknown context is refused', () => {
    const wrong = ['requests'] as never
    expect(() => setUp({ down }, undefined, undefined, wrong)).toThrow(
      /failOnErrorIn\[0\]: got "requests".*'request', 'cli', 'job'/,
    )
  })

  it('E7: an invalid event, and an event after close, do not fail a job either', async () => {
    const { events, ended, recorder, clock } = setUp({ down })
    const input = { type: 'x', payload: { big: 1n } }
    expect(await ended(events.track(input))).toMatchObject({ code: 'LAZARET_EVENT_INVALID' })
    const swallowed = await ended(asJob('Nightly', () => events.track(input)))
    expect(swallowed).toMatchObject({
      event: undefined,
      sinks: { down: { outcome: 'dropped', reason: 'schema' } },
    })
    const closed = events.close()
    await clock.advance(60_000)
    await closed
    const late = await ended(asJob('Nightly', () => events.track({ type: 'x' })))
    expect(late).toMatchObject({ swallowed: { code: 'LAZARET_CLOSED' } })
    expect(recorder.of('trackingFailureSwallowed').map(({ errorName }) => errorName)).toEqual([
      'EventError',
      'ClosedError',
    ])
  })

  it('E7: the mode follows the async context, and of nested scopes the innermost counts', async () => {
    const seen = await asJob('outer', async () => {
      await Promise.resolve()
      const inner = asJob('inner', () => trackingScope().job)
      const request = asRequest(() => trackingScope())
      return [inner, request, trackingScope().job]
    })
    expect(seen).toEqual(['inner', { context: 'request', job: undefined, onFailure: undefined }, 'outer'])
    expect(trackingScope().context).toBe('cli')
    expect(() => asJob('', () => 1)).toThrow(OptionsError)
  })

  it('E7: sinks are written outside the async scope of the first tracker', async () => {
    const scopes: (string | undefined)[] = []
    const looking: Sink = { write: async () => void scopes.push(trackingScope().job) }
    const { events, ended } = setUp({ looking })
    await ended(asJob('Nightly', () => events.track({ type: 'x' })))
    expect(scopes).toEqual([undefined])
  })
})
