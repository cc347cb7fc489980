import { memorySink } from '../../src/adapters/memory/index.ts'
import type { Sink } from '../../src/ports/sink.ts'
import { runReplay } from '../../src/replay/runner.ts'
import type { ReplayTarget } from '../../src/replay/target.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'
import type { DispatcherOptions } from '../../src/runtime/dispatcher/dispatcher-options.ts'
import { deliveryWorld } from './delivery-world.ts'

/** Letters of a sink that only services have. `written` has each write, with the name of its process. */
export async function sinkWorld() {
  const base = deliveryWorld(0)
  const { clock, store, environment, make, join, until } = base
  const written: string[] = []
  const sinkOf = (
    name: string,
    write: Sink['write'] = async () => {},
    more: Partial<DispatcherOptions<'crm' | 'other'>> = {},
  ) => {
    const sink: Sink = {
      async write(batch, context) {
        written.push(...batch.map(({ id }) => `${name} ${id}`))
        return write(batch, context)
      },
    }
    return createDispatcher({
      sinks: { crm: sink, other: memorySink() },
      deadLetters: store.deadLetters,
      channel: 'orders',
      leaveOpen: true,
      breaker: 'off',
      clock,
      ...more,
    })
  }
  for (const letter of Array.from({ length: 12 }, () =>
    make.letter({ channel: 'orders', handler: 'crm', origin: {} }),
  ))
    await store.deadLetters.send(letter)
  return Object.assign(base, {
    ...{ written, sinkOf },
    /** Runs the replay until its first letter is in a sink. */
    async runUntilWritten(id: string, target: ReplayTarget) {
      const stop = new AbortController()
      const run = { target, environment, owner: 'a', signal: stop.signal }
      const running = runReplay(store, id, run)
      while (written.length < 1) await clock.advance(100)
      stop.abort()
      await until(running)
    },
    joinWith: async (name: string, write?: Sink['write']) =>
      join(name, { consumers: [], dispatchers: [sinkOf(name, write)] }),
    /** From now on no report of the process reaches the store, as if the process stood still, until the result is called. */
    silence(id: string): () => void {
      const fleet = store.fleet!
      const { report } = fleet
      fleet.report = async (...of) => {
        if (of[0].id !== id) await report.apply(fleet, of)
      }
      return () => {
        fleet.report = report
      }
    },
  })
}
