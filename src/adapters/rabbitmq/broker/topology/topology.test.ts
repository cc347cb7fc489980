import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_RETRY_STEPS_MS, resolveRabbitmq } from '../../options.ts'
import { explainMismatch } from './mismatch.ts'
import { durationName, nextStep, queueName } from './names.ts'
import { allSpecs, mainQueue } from './plan.ts'

const OPTIONS = resolveRabbitmq({ url: 'amqp://test', retryStepsMs: [1_000, 5_000], deliveryLimit: 100 })

describe('retry steps', () => {
  it('B3: steps add up to at least the delay, and not to much more', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), delayMs => {
        let waited = 0
        let rounds = 0
        while (waited < delayMs) {
          waited += nextStep(DEFAULT_RETRY_STEPS_MS, delayMs - waited)
          rounds++
        }
        expect(waited - delayMs).toBeLessThanOrEqual(Math.max(100, delayMs * 0.25))
        expect(rounds).toBeLessThan(20)
      }),
    )
  })

  it.each([
    [1_000, 1_000],
    [900, 1_000],
    [700, 500],
    [5_500, 5_000],
    [50, 100],
    [7_200_000, 3_600_000],
  ])('B3: of %i ms, %i are waited for first', (delayMs, stepMs) => {
    expect(nextStep(DEFAULT_RETRY_STEPS_MS, delayMs)).toBe(stepMs)
  })
})

describe('names', () => {
  it('R15: the queues of dead letters begin with the name that the option gives', () => {
    const namesOf = (deadLetterQueue: string) => {
      const options = resolveRabbitmq({
        url: 'amqp://test',
        deadLetterQueue,
        deadLetterQueues: 'by-category',
      })
      return allSpecs('q', 'q', options).flatMap(spec => (spec.kind === 'queue' ? [spec.name] : []))
    }
    const letters = ['failed.q', 'failed.q.schema', 'failed.q.quarantine.schema']
    expect(namesOf('failed.{queue}')).toEqual(expect.arrayContaining(letters))
    expect(namesOf('failed.{queue}').filter(name => name.includes('dlq'))).toEqual([])
    expect(namesOf('all-failures')).toContain('all-failures.quarantine.unknown')
    expect(() => namesOf('q')).toThrow(/deadLetterQueue: got 'q'; give another name/)
  })

  it.each(['', 'amq.failed', '{queue}', '{queue}.suspects', '{queue}.retry.5s', 'a b', 'x'.repeat(151), 7])(
    'R15: the name %j of a dead-letter queue is refused',
    deadLetterQueue => {
      const options = { url: 'amqp://test', deadLetterQueue: deadLetterQueue as string }
      expect(() => resolveRabbitmq(options)).toThrow(/deadLetterQueue: .*such as '\{queue\}\.failed'/)
    },
  )

  it('K1: are those of the documentation', () => {
    expect([100, 5_000, 90_000, 120_000, 3_600_000].map(durationName)).toEqual([
      '100ms',
      '5s',
      '90s',
      '2m',
      '1h',
    ])
    expect([queueName('orders', 'orders'), queueName('orders', 'bill')]).toEqual(['orders', 'orders.bill'])
    const names = allSpecs('q', 'q', OPTIONS).flatMap(spec => (spec.kind === 'queue' ? [spec.name] : []))
    expect(names).toEqual([
      'q',
      'q.dlq',
      'q.suspects',
      ...['transient', 'schema', 'business', 'integration', 'unknown'].map(
        name => `q.dlq.quarantine.${name}`,
      ),
      'q.retry.1s',
      'q.retry.5s',
    ])
  })

  it('K2, R5: by category, each category has a dead-letter queue with the limits of the others', () => {
    const options = { ...OPTIONS, deadLetterQueues: 'by-category' as const, deadLetterTtlMs: 5_000 }
    const queues = allSpecs('q', 'q', options).flatMap(spec => (spec.kind === 'queue' ? [spec] : []))
    const sorted = ['transient', 'schema', 'business', 'integration', 'unknown'].map(name => `q.dlq.${name}`)
    expect(queues.map(({ name }) => name)).toEqual(expect.arrayContaining(sorted))
    for (const { name, options } of queues)
      if (name.startsWith('q.dlq')) expect(options.arguments['x-message-ttl']).toBe(5_000)
  })
})

describe('limits', () => {
  const argumentsOf = (name: string, options: Parameters<typeof allSpecs>[2]) =>
    allSpecs('q', 'q', options).flatMap(spec =>
      spec.kind === 'queue' && spec.name === name ? [spec.options.arguments] : [],
    )[0]

  it('K9: whatever is full refuses; no queue drops what it has', () => {
    for (const queueType of ['quorum', 'classic'] as const) {
      const options = { ...OPTIONS, queueType, deadLetterMaxLength: 10 }
      for (const name of ['q.dlq', 'q.dlq.quarantine.unknown'])
        expect(argumentsOf(name, options)).toMatchObject({
          'x-max-length': 10,
          'x-overflow': 'reject-publish',
        })
    }
    const limited = { ...OPTIONS, maxLength: 20 }
    expect(argumentsOf('q', limited)).toMatchObject({ 'x-max-length': 20, 'x-overflow': 'reject-publish' })
    for (const name of ['q.suspects', 'q.retry.1s', 'q.dlq'])
      expect(argumentsOf(name, limited)).not.toHaveProperty('x-max-length')
  })
})

describe('a queue that is there and different', () => {
  const refused = (text: string) =>
    new Error(
      `Operation failed: QueueDeclare; 406 (PRECONDITION_FAILED) with message "PRECONDITION_FAILED - ${text}"`,
    )

  it('F3: the difference is told in one line, with what to do', () => {
    const error = explainMismatch(
      mainQueue('q', OPTIONS),
      refused(
        "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received the value 'quorum' of type 'longstr' but current is none",
      ),
    )
    expect(error.message).toBe(
      "queue 'q': exists with x-queue-type none, but Lazaret declares 'quorum'; keep the queue as it is with `declare: 'auxiliary'`, set queueType to the existing type, or move its messages and delete it",
    )
    expect(error).toMatchObject({ code: 'LAZARET_TOPOLOGY_MISMATCH', retryable: false })
  })

  it('F3: what a policy can set comes with the command', () => {
    const error = explainMismatch(
      mainQueue('q', OPTIONS),
      refused(
        "inequivalent arg 'x-delivery-limit' for queue 'q' in vhost '/': received '100' but current is '20'",
      ),
    )
    expect(error.message).toContain(
      `rabbitmqctl set_policy lazaret '^q$' '{"delivery-limit":100}' --apply-to queues`,
    )
  })
})
