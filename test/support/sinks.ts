import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import type { Sink } from '../../src/ports/sink.ts'
import { createFactory } from '../../src/testing/factories.ts'
import type { Receiver } from '../receivers/receiver.ts'

/** Events of now with ids of their own. */
export const make = createFactory({ clock: systemClock, random: systemRandom })

export const never = (): { readonly signal: AbortSignal } => ({ signal: new AbortController().signal })

/** Runs with a receiver and whatever sinks are opened for it, and closes them all. */
export async function withReceiver<R extends Receiver>(
  opening: Promise<R>,
  run: (receiver: R, open: <S extends Sink>(sink: S) => S) => Promise<void>,
): Promise<void> {
  const receiver = await opening
  const sinks: Sink[] = []
  try {
    await run(receiver, sink => {
      sinks.push(sink)
      return sink
    })
  } finally {
    for (const sink of sinks) await sink.close?.()
    await receiver.close()
  }
}

/** What a write failed with. */
export async function failureOf(
  work: Promise<unknown> | undefined,
): Promise<Error & Record<string, unknown>> {
  try {
    await work
  } catch (error) {
    return error as Error & Record<string, unknown>
  }
  throw new Error('it did not fail')
}
