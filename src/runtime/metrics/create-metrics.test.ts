import { describe, expect, it } from 'vitest'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { createMasks } from '../../core/dead-letter/masks.ts'
import { classify } from '../../core/failure/classify.ts'
import type { MetricFamily } from '../../ports/metrics.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createBreaker } from '../breaker.ts'
import { createMetrics, type LiveMetrics } from './create-metrics.ts'

async function family(metrics: LiveMetrics, name: string): Promise<MetricFamily> {
  const found = (await metrics.read()).find(each => each.name === name)
  if (found === undefined) throw new Error(`no family ${name}`)
  return found
}

/** Series as `label=value … number`. */
async function seriesOf(metrics: LiveMetrics, name: string): Promise<string[]> {
  const { samples } = await family(metrics, name)
  return samples.map(sample => {
    const labels = Object.entries(sample.labels).map(([label, value]) => `${label}=${value}`)
    return [...labels, 'value' in sample ? sample.value : `${sample.count}/${sample.sum}`].join(' ')
  })
}

function world() {
  const clock = new FakeClock()
  const metrics = createMetrics({ clock })
  const make = createFactory({ clock })
  return { clock, metrics, make, observer: metrics.observer, of: (name: string) => seriesOf(metrics, name) }
}

describe('what is counted', () => {
  it('E20: deliveries by channel and outcome, and how long handlers take', async () => {
    const { observer, of, metrics } = world()
    const processed = { channel: 'orders', name: 'bill', attempts: 1, durationMs: 7 }
    for (const outcome of ['done', 'done', 'dead'] as const)
      observer.eventProcessed?.({ ...processed, outcome })
    const ended = { channel: 'orders', name: 'bill', attempt: 1, succeeded: true }
    for (const durationMs of [5, 40, 100_000]) observer.handlerEnded?.({ ...ended, durationMs })
    expect(await of('events_processed_total')).toEqual([
      'channel=orders outcome=done 2',
      'channel=orders outcome=dead 1',
    ])
    expect(await of('handler_duration_seconds')).toEqual(['channel=orders 3/100.045'])
    const { samples } = await family(metrics, 'handler_duration_seconds')
    const [{ buckets }] = samples as [Extract<MetricFamily, { type: 'histogram' }>['samples'][number]]
    // A bound counts what is as large as itself.
    expect(buckets.filter(({ le }) => [0.0025, 0.005, 0.05, 30, Infinity].includes(le))).toEqual([
      { le: 0.0025, count: 0 },
      { le: 0.005, count: 1 },
      { le: 0.05, count: 2 },
      { le: 30, count: 2 },
      { le: Infinity, count: 3 },
    ])
  })

  it('E20: each letter once, also when it is spilled or told again', async () => {
    const { observer, of, make } = world()
    const kept = (more: object) => ({ channel: 'orders', name: 'bill', letter: make.letter(more) })
    observer.letterSaved?.(kept({}))
    observer.letterSpilled?.(kept({}))
    observer.spillDrained?.({ count: 1 })
    const fromJob = kept({ job: 'SendEmailJob' })
    observer.letterSaved?.(fromJob)
    observer.letterSaved?.({ ...fromJob, again: true })
    observer.letterSpilled?.({ ...fromJob, again: true })
    const { reason, attemptCount } = make.letter().cycle
    const { handler, cycle } = make.letter()
    expect(await of('dlq_saved_total')).toEqual([
      `channel=orders name=${handler} reason=${reason} error_class=${cycle.failure!.name} 3`,
    ])
    expect(await of('dlq_from_job_total')).toEqual([`job=SendEmailJob reason=${reason} 1`])
    expect(await of('attempts_before_dlq')).toEqual([`channel=orders 3/${3 * attemptCount}`])
  })

  it('R10: a saved letter names its handler or sink and the error class, a replay the handler', async () => {
    const { observer, of, make } = world()
    const saved = (letter: DeadLetter) =>
      observer.letterSaved?.({ channel: letter.channel, name: letter.handler, letter })
    const event = make.event({ channel: 'orders' })
    saved(make.letter({ event, handler: 'bill', reason: 'permanent', error: new TypeError('no wallet') }))
    saved(make.letter({ event, handler: 'loki', reason: 'permanent', error: new RangeError('no room') }))
    const refused = make.letter({ event, handler: 'loki', reason: 'rate_limited' })
    saved({ ...refused, cycle: { ...refused.cycle, failure: undefined } })
    expect(await of('dlq_saved_total')).toEqual([
      'channel=orders name=bill reason=permanent error_class=TypeError 1',
      'channel=orders name=loki reason=permanent error_class=RangeError 1',
      'channel=orders name=loki reason=rate_limited error_class=(none) 1',
    ])
    observer.replaySent?.({ channel: 'orders', name: 'loki', letterId: '1', replayId: '1' })
    expect(await of('dlq_replayed_total')).toEqual(['channel=orders name=loki 1'])
  })

  it('E20: retries, and how they end', async () => {
    const { observer, of } = world()
    observer.retryScheduled?.({ name: 'loki', attempt: 2, delayMs: 200, delayFrom: 'policy' })
    observer.retrySucceeded?.({ name: 'loki', attempts: 2 })
    const failure = classify(new TypeError('x is not a function'))
    for (const reason of ['attempts_exhausted', 'elapsed', 'permanent', 'breaker_open'] as const)
      observer.gaveUp?.({ name: 'loki', attempts: 3, reason, failure })
    observer.retryAllowed?.({ name: 'loki' })
    observer.retryLimited?.({ name: 'loki', action: 'delay' })
    observer.retryBatchReleased?.({ name: 'loki', count: 50 })
    expect(await of('retry_attempts_total')).toEqual(['name=loki 1'])
    expect(await of('retry_delay_seconds')).toEqual(['name=loki 1/0.2'])
    expect(await of('retry_successes_total')).toEqual(['name=loki 1'])
    expect(await of('retry_exhausted_total')).toEqual(['name=loki 2'])
    expect(await of('retry_permanent_failures_total')).toEqual(['name=loki error_class=TypeError 1'])
    expect(await of('retry_limiter_allowed_total')).toEqual(['name=loki 1'])
    expect(await of('retry_limiter_limited_total')).toEqual(['name=loki action=delay 1'])
    expect(await of('retry_batches_total')).toEqual(['name=loki 1'])
  })

  it('E14, E20: events that the entry limit refuses, by their outcome', async () => {
    const { observer, of } = world()
    for (const became of ['saved', 'saved', 'dropped', 'unsaved'] as const)
      observer.eventLimited?.({ type: 'order.paid', became })
    expect(await of('rate_limiter_limited_total')).toEqual(['type=order.paid 4'])
    expect(await of('rate_limiter_dlq_saved_total')).toEqual(['type=order.paid 2'])
    expect(await of('rate_limiter_dropped_total')).toEqual(['type=order.paid 1'])
  })

  it('E7, E20: failures to track that were swallowed, in a job and for a caller who asked for it', async () => {
    const { observer, of } = world()
    const swallowed = { errorName: 'TrackingError', reason: 'permanent' } as const
    observer.trackedInJob?.({ job: 'SendEmailJob' })
    observer.trackingFailureSwallowed?.({ ...swallowed, job: 'SendEmailJob' })
    observer.trackingFailureSwallowed?.({ ...swallowed, job: undefined })
    expect(await of('tracked_in_job_total')).toEqual(['job=SendEmailJob 1'])
    expect(await of('tracking_failures_swallowed_total')).toEqual([
      'error_class=TrackingError context=job 1',
      'error_class=TrackingError context=caller 1',
    ])
  })

  it('E20: the share delivered of what sinks ended with in five minutes; nothing when nothing ended', async () => {
    const { observer, of, clock } = world()
    expect(await of('dispatch_success_ratio')).toEqual([])
    observer.batchWritten?.({ name: 'loki', count: 3, durationMs: 1 })
    observer.undelivered?.({ name: 'loki', type: 'order.paid', reason: 'permanent' })
    expect(await of('dispatch_success_ratio')).toEqual(['0.75'])
    await clock.advance(200_000)
    observer.undelivered?.({ name: 'loki', type: 'order.paid', reason: 'permanent' })
    expect(await of('dispatch_success_ratio')).toEqual(['0.6'])
    await clock.advance(100_000)
    expect(await of('dispatch_success_ratio')).toEqual(['0'])
    await clock.advance(300_000)
    expect(await of('dispatch_success_ratio')).toEqual([])
  })
})

describe('what is watched', () => {
  it('E16, E20: a breaker shows before it has ever changed, by hand or by itself', async () => {
    const { metrics, of, clock, observer } = world()
    const breaker = createBreaker({}, { name: 'crm', clock, observer })
    expect(await of('breaker_state')).toEqual([])
    const unwatch = metrics.watch(breaker)
    expect(await of('breaker_state')).toEqual(['name=crm 0'])
    breaker.force('open')
    expect(await of('breaker_state')).toEqual(['name=crm 2'])
    breaker.force('closed')
    expect(await of('breaker_state')).toEqual(['name=crm 0'])
    expect(await of('breaker_opened_total')).toEqual(['name=crm 1'])
    expect(await of('breaker_closed_total')).toEqual(['name=crm 1'])
    unwatch()
    // Values that were observed before stay.
    expect(await of('breaker_state')).toEqual(['name=crm 0'])
  })

  it('E20: of several with one name, queues are added and the worst breaker is shown', async () => {
    const { metrics, of } = world()
    const sink = { breakerState: 'closed', retrying: 3 } as const
    const health = (breakerState: 'closed' | 'half-open') => ({ sinks: { loki: { ...sink, breakerState } } })
    metrics.watch({ health: () => health('closed') as never })
    metrics.watch({ health: () => health('half-open') as never })
    expect(await of('retry_queue_size')).toEqual(['name=loki 6'])
    expect(await of('breaker_state')).toEqual(['name=loki 1'])
  })

  it('E20: the lag of a consumer is shown once, and a broker that cannot count it or hangs hides nothing else', async () => {
    const { metrics, of, clock } = world()
    const health = (handler: string) =>
      ({ channel: 'orders', handler, breakerState: 'open', retrying: 2 }) as never
    metrics.watch({ health: () => health('bill'), lag: async () => 7 })
    metrics.watch({ health: () => health('bill'), lag: async () => 9 })
    metrics.watch({ health: () => health('ship'), lag: async () => undefined })
    metrics.watch({ health: () => health('mail'), lag: () => Promise.reject(new Error('gone')) })
    expect(await of('consumer_lag')).toEqual(['channel=orders name=bill 9'])
    metrics.watch({ health: () => health('slow'), lag: () => new Promise(() => {}) })
    const reading = of('breaker_state')
    await clock.advance(2_000)
    expect(await reading).toContain('name=slow 2')
  })

  it('E20: a source that throws, hangs or answers nonsense has no series, and the others have', async () => {
    const { metrics, of, clock } = world()
    const reading = { name: 'dlq_size', labels: { channel: 'orders', name: 'bill' }, value: 4 }
    metrics.watch(() => [reading, { ...reading, labels: { channel: 'mail' }, value: Number.NaN }])
    metrics.watch(() => {
      throw new Error('down')
    })
    metrics.watch(() => Promise.reject(new Error('down')))
    metrics.watch(() => [undefined, { name: 'dlq_size' }] as never)
    metrics.watch(() => [{ ...reading, labels: { channel: 7 } }] as never)
    metrics.watch(() => undefined as never)
    metrics.watch(() => new Promise(() => {}))
    const read = of('dlq_size')
    await clock.advance(8_000)
    expect(await read).toEqual(['channel=orders name=bill 4'])
  })

  it('E20: a source that owes an answer is not asked again, and is when it has given it', async () => {
    const { metrics, of, clock } = world()
    const answers: ((size: number) => void)[] = []
    metrics.watch(async () => {
      const value = await new Promise<number>(resolve => answers.push(resolve))
      return [{ name: 'dlq_size', labels: { channel: 'orders', name: 'bill' }, value }]
    })
    const late = of('dlq_size')
    await clock.advance(8_000)
    expect(await late).toEqual([])
    const [next, other] = [of('dlq_size'), of('dlq_size')]
    expect(answers).toHaveLength(1)
    answers[0]!(4)
    expect(await Promise.all([next, other])).toEqual([
      ['channel=orders name=bill 4'],
      ['channel=orders name=bill 4'],
    ])
    const fresh = of('dlq_size')
    answers[1]!(5)
    expect(await fresh).toEqual(['channel=orders name=bill 5'])
  })
})

describe('the name of an error as a label', () => {
  const named = (name: string) => Object.assign(new Error('no'), { name })
  const customer = named('Customer Wagenknecht bob@example.com')
  const payload = { surname: 'Wagenknecht' }

  it('R10, E20: quotes no masked value of the letter', async () => {
    const { observer, of, make } = world()
    const letter = make.letter({ event: make.event({ payload }), error: customer })
    observer.letterSaved?.({ channel: 'orders', name: 'bill', letter })
    expect(await of('dlq_saved_total')).toEqual([
      expect.stringMatching(/error_class=Customer \*\*\* \*\*\* 1$/),
    ])
  })

  it('R10, E20: quotes no masked value of an event that is given up on', async () => {
    const { observer, of, make } = world()
    const gaveUp = {
      name: 'bill',
      attempts: 1,
      reason: 'permanent',
      failure: classify(customer, { now: 0 }),
    } as const
    observer.gaveUp?.({ ...gaveUp, event: make.event({ payload }) })
    // A call of resilient() has no event.
    observer.gaveUp?.({ ...gaveUp, name: 'call' })
    expect(await of('retry_permanent_failures_total')).toEqual([
      'name=bill error_class=Customer *** *** 1',
      'name=call error_class=Customer Wagenknecht *** 1',
    ])
  })

  it('R10, E20: quotes no masked value of an event that was not tracked', async () => {
    const { observer, of, make } = world()
    const event = make.event({ payload })
    observer.trackingFailureSwallowed?.({ job: 'mail', errorName: customer.name, reason: 'permanent', event })
    expect(await of('tracking_failures_swallowed_total')).toEqual([
      'error_class=Customer *** *** context=job 1',
    ])
  })

  it('R10: uses the masks of the options', async () => {
    const metrics = createMetrics({ masks: createMasks({ patterns: [/tenant-\d+/], defaults: false }) })
    const letter = createFactory().letter({ error: named('NoRoom tenant-17') })
    metrics.observer.letterSaved?.({ channel: 'orders', name: 'bill', letter })
    expect(await seriesOf(metrics, 'dlq_saved_total')).toEqual([
      expect.stringContaining('error_class=NoRoom ***'),
    ])
  })

  it('E20: the values of events are collected once for the name of a class', () => {
    const { observer, make } = world()
    let reads = 0
    const read = {
      get surname() {
        reads++
        return 'Wagenknecht'
      },
    }
    const letter = make.letter({ error: new TypeError('no') })
    const letters = Array.from({ length: 100 }, () => ({
      ...letter,
      event: { ...letter.event, payload: read },
    }))
    for (const letter of letters) observer.letterSaved?.({ channel: 'orders', name: 'bill', letter })
    expect(reads).toBe(1)
  })
})
