import { join } from 'node:path'
import { classify } from '../../../src/core/failure/classify.ts'
import { PermanentError, TransientError } from '../../../src/core/failure/signals.ts'
import { createConsumer } from '../../../src/runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../../../src/runtime/consumer/consumer-options.ts'
import { writeLine } from '../../support/write-line.ts'
import { Effects } from './effects.ts'
import type { Kind } from './plan.ts'
import { pause } from './wait.ts'

const HANDLER_MS = 2
/** How long a process waits that finds no server when it starts. */
const AWAY_MS = 500
const TRANSIENT_FAILURES = 2

/** What each broker decides for itself. */
type Options = Omit<ConsumerOptions<{ kind: Kind }>, 'concurrency' | 'breaker' | 'observer' | 'handle'>

/** What the handler of one campaign does before the effect, and what the process closes at its end. */
interface OwnWork {
  readonly act?: ((id: string) => Promise<void>) | undefined
  readonly close?: (() => Promise<void>) | undefined
}

/**
 * The consumer of a campaign. It runs until SIGTERM. What it did is in the effects of its folder; what became of each
 * delivery it tells on stdout. Its life is the number of times that its process was started.
 */
export async function consume(
  folder: string,
  life: string,
  options: Options,
  { act = async () => {}, close = async () => {} }: OwnWork = {},
): Promise<void> {
  const effects = new Effects(join(folder, 'effects.db'))
  const consumer = createConsumer<{ kind: Kind }>({
    ...options,
    concurrency: 20,
    breaker: 'off',
    observer: { eventProcessed: ({ outcome }) => writeLine(outcome) },
    async handle({ id, payload: { kind } }, { attempt }) {
      await pause(HANDLER_MS)
      if (kind === 'transient' && attempt <= TRANSIENT_FAILURES)
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      if (kind === 'permanent') throw new PermanentError('the event can never succeed')
      if (kind === 'poison')
        throw new TransientError('the event fails in the same way at each attempt', { category: 'business' })
      await act(id)
      effects.happen(id, Number(life))
    },
  })
  await untilUp(() => consumer.start())
  writeLine('started')
  process.on(
    'SIGTERM',
    () =>
      void consumer
        .close()
        .then(close)
        .then(() => effects.close()),
  )
}

/** A server can be away while the process starts. */
async function untilUp(start: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await start()
      return
    } catch (error) {
      if (!classify(error).retryable) throw error
      await pause(AWAY_MS)
    }
  }
}
