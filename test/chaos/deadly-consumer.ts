import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../../src/runtime/consumer/consumer-options.ts'
import { writeLine } from '../support/write-line.ts'

type Options = Pick<ConsumerOptions, 'broker' | 'channel' | 'name' | 'ordering' | 'retry'>

/**
 * Consumes until SIGTERM, and tells on stdout what it has handled. One kind of event kills the process at once, as a bug in
 * native code or the end of memory would.
 */
export async function consumeDeadlyEvents(options: Options): Promise<void> {
  const consumer = createConsumer({
    ...options,
    concurrency: 5,
    prefetch: 20,
    observer: {
      eventProcessed: ({ outcome }) => {
        if (outcome === 'dead') writeLine('gave up')
      },
    },
    handle: event => {
      if (event.type === 'deadly') process.kill(process.pid, 'SIGKILL')
      writeLine(event.id)
    },
  })
  await consumer.start()
  writeLine('started')
  process.on('SIGTERM', () => void consumer.close())
}
