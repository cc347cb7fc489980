import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { replayHeaders } from '../../src/core/event/replay-headers.ts'
import type { Broker } from '../../src/ports/broker.ts'
import type { Clock } from '../../src/ports/clock.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'

interface ReplayOptions {
  readonly leaveOpen?: boolean
  readonly clock?: Clock
  readonly handle: () => void
}

/** The replay `r1` of a letter that the broker keeps, in a consumer that makes one attempt. */
export async function replayInConsumer(
  broker: Broker & { depth(channel: string, handler: string): Promise<number> },
  letter: DeadLetter,
  { handle, ...options }: ReplayOptions,
) {
  const { channel } = letter
  const problems: unknown[] = []
  let runs = 0
  const consumer = createConsumer({
    ...options,
    broker,
    channel,
    name: 'bill',
    retry: { attempts: 1 },
    observer: { letterWriteFailed: ({ error }) => problems.push(error) },
    handle() {
      runs++
      handle()
    },
  })
  await consumer.start()
  const replay = { letterId: letter.id, handler: 'bill', replayId: 'r1', attempt: 1 }
  await broker.publish([{ ...letter.event, headers: replayHeaders(letter.event, replay) }])
  return { consumer, problems, depth: () => broker.depth(channel, 'bill'), runs: () => runs }
}
