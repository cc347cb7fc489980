import type { LazaretEvent } from '../src/core/event/event.ts'
import { PermanentError, TransientError } from '../src/core/failure/signals.ts'
import type { RejectedItem, Sink, WriteResult } from '../src/ports/sink.ts'
import { BrokenFunctions } from './broken-functions.ts'
import type { SinkPlan } from './plan.ts'
import type { Process } from './process.ts'

/** A sink of the world, used by one process. It can accept a part of a batch, be slow, or lose its answer. */
export class SimulatedSink implements Sink {
  readonly probe?: () => Promise<void>
  readonly #process: Process
  readonly #plan: SinkPlan
  readonly #functions: BrokenFunctions
  readonly #buffered: () => number
  #inFlight = 0

  constructor(process: Process, plan: SinkPlan, buffered: () => number) {
    this.#process = process
    this.#plan = plan
    this.#functions = new BrokenFunctions(process, plan.name)
    this.#buffered = buffered
    if (plan.hasProbe) this.probe = async () => process.callPort('sink', 'probe', () => {})
  }

  async write(
    batch: readonly LazaretEvent[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<WriteResult> {
    const { world, name } = this.#process
    const handler = this.#plan.name
    const write = world.nextNumber()
    const about = { consumer: `${name}/${handler}`, handler, write }
    this.#inFlight++
    let isOpen = true
    const end = () => {
      if (isOpen) this.#inFlight--
      isOpen = false
    }
    signal.addEventListener('abort', end)
    const events = batch.map(({ id }) => id)
    if (this.#process.isAlive)
      world.history.record({
        what: 'writing',
        ...about,
        events,
        inFlight: this.#inFlight,
        buffered: this.#buffered(),
      })
    try {
      await this.#process.wait(world.faults.workMs())
      const rejected = this.#rejected(batch)
      const blamed = this.#maybeBlameAll(rejected)
      if (blamed !== undefined) {
        if (!signal.aborted) world.history.record({ what: 'refusedAll', ...about, events })
        throw blamed.error
      }
      const isMalformed = rejected.length > 0 && this.#functions.breaks('sink-answer')
      const taken = events.filter((_, index) => !rejected.some(item => item.index === index))
      await this.#process.callPort('sink', 'write', () => {
        world.history.record({ what: 'written', ...about, events: taken })
      })
      if (isMalformed) return this.#malformedAnswer(events, rejected)
      if (this.#process.isAlive && !signal.aborted)
        world.history.record({ what: 'acknowledged', ...about, events: taken })
      return { rejected }
    } finally {
      end()
    }
  }

  /** Some receivers refuse a whole request because of one event, and do not say which. */
  #maybeBlameAll(rejected: readonly RejectedItem[]): RejectedItem | undefined {
    const guilty = rejected.find(({ error }) => error instanceof PermanentError)
    return guilty !== undefined && this.#process.world.extraChance.maybe(0.5) ? guilty : undefined
  }

  /** An answer that names the rejected items in a shape that the contract does not allow. */
  #malformedAnswer(events: readonly string[], rejected: readonly RejectedItem[]): WriteResult {
    const items = rejected.map(({ index, error }) => ({ id: events[index], error }))
    const outside = rejected.map(({ error }) => ({ index: events.length, error }))
    return { rejected: this.#process.world.extraChance.pick<unknown>([items, outside, null]) } as WriteResult
  }

  async close(): Promise<void> {}

  #rejected(batch: readonly LazaretEvent[]): readonly RejectedItem[] {
    const { plan, faults } = this.#process.world
    return batch.flatMap(({ id }, index) => {
      if (plan.tracks.get(id)?.eventKind === 'fails-permanently')
        return [{ index, error: new PermanentError('permanent: no room for it') }]
      if (faults.areStopped || !faults.maybe(0.03)) return []
      faults.count++
      return [{ index, error: new TransientError('transient: not now') }]
    })
  }
}
