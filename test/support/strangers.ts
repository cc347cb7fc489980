import { memoryDeadLetters, memoryLedger } from '../../src/adapters/memory/index.ts'
import { PermanentError } from '../../src/core/failure/signals.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'

/** A message of a program that gives its messages no id. */
export interface StrangersMessage {
  readonly n: number
  readonly isBad: boolean
}

/** The data of `count` messages, of which the last two are bad. */
export function strangersMessages(first: number, count: number): readonly StrangersMessage[] {
  return Array.from({ length: count }, (_, at) => ({ n: first + at, isBad: at >= count - 2 }))
}

/** A consumer with a ledger. The bad messages become letters. */
export async function handleStrangers(broker: Broker, channel: string) {
  const deadLetters = memoryDeadLetters()
  const handled: number[] = []
  const consumer = createConsumer({
    broker,
    channel,
    name: 'bill',
    deadLetters,
    ledger: memoryLedger(),
    breaker: 'off',
    handle({ payload }) {
      const { n, isBad } = payload as StrangersMessage
      handled.push(n)
      if (isBad) throw new PermanentError(`bad ${n}`)
    },
  })
  await consumer.start()
  return {
    consumer,
    handled: () => handled.toSorted((a, b) => a - b),
    /** What the letters have as payload. */
    async buried(): Promise<readonly number[]> {
      const { letters } = await deadLetters.list({})
      return letters.map(({ event }) => (event.payload as StrangersMessage).n).sort((a, b) => a - b)
    },
  }
}
