import type { MemoryJournal } from '../src/adapters/memory/journal/journal.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import type { Random } from '../src/core/random.ts'
import type { Journal } from '../src/ports/journal.ts'
import { createDispatcher, type Dispatcher } from '../src/runtime/dispatcher/dispatcher.ts'
import { TrackingError, type TrackResult } from '../src/runtime/dispatcher/track/track-result.ts'
import { FarSink } from './far-sink.ts'
import type { EmitterPlan, TrackPlan } from './plan.ts'
import type { Process } from './process.ts'
import type { Letters } from './stores.ts'
import { WatchedBreaker } from './watched-breaker.ts'

/** The part of a process that emits: a dispatcher, and the code that tracks and is told what became of it. */
export class Emitter {
  #open = 0
  readonly #process: Process
  readonly #dispatcher: Dispatcher

  constructor(
    process: Process,
    plan: EmitterPlan,
    means: { readonly letters: Letters; readonly random: Random; readonly journal: MemoryJournal },
  ) {
    this.#process = process
    const { tracks } = process.scene.plan
    const buffered = (sink: string) => this.#dispatcher.health().sinks[sink]?.buffered ?? 0
    const sinks = plan.sinks.map(
      sink => [sink.name, new FarSink(process, sink, () => buffered(sink.name))] as const,
    )
    const overrides = plan.sinks.map(({ name, hasProbe: _, breaker, ...lane }) => [
      name,
      { ...lane, breaker: breaker === 'off' ? 'off' : new WatchedBreaker(process, name, breaker) },
    ])
    const isUnworthy = (event: LazaretEvent) => tracks.get(event.id)?.unworthy === true
    this.#dispatcher = createDispatcher({
      ...means.letters,
      sinks: Object.fromEntries(sinks),
      overrides: Object.fromEntries(overrides),
      clock: process,
      random: means.random,
      host: process.name,
      graceMs: plan.graceMs,
      critical: event => tracks.get(event.id)?.isCritical === true,
      healthCheck: plan.checkEveryMs === 'off' ? 'off' : { everyMs: plan.checkEveryMs },
      observer: {
        // An event that is neither delivered nor kept says so here, whatever it was dropped by.
        eventDropped: ({ name: sink, type: event, reason }) => this.#forgo(event, sink, reason),
        letterFiltered: () => {},
      },
      ...(plan.hasFilter
        ? { filter: { saveIf: ({ event, handler }) => this.#keeps(isUnworthy, event, handler) } }
        : {}),
      ...(plan.rateLimit === undefined ? {} : { rateLimit: plan.rateLimit }),
      ...(plan.hasJournal ? { journal: journalClient(process, means.journal) } : {}),
    })
  }

  /**
   * Whether nobody waits to be told, no letter is in memory only, and nothing is on its way to a sink: what still were
   * when its process closes would go to the journal, and nobody sends it from there in a world that has ended.
   */
  get isFlushed(): boolean {
    const { active, waiting } = this.left
    return this.#open + active + waiting === 0 && this.#dispatcher.health().unsavedLetters === 0
  }

  track({ name, wait, onFailure, nature }: TrackPlan): void {
    const { journal, clock } = this.#process.scene
    const by = this.#process.name
    journal.note({ what: 'tracked', event: name, by })
    this.#open++
    const expiresAt = nature === 'stale' ? clock.now() + 300 : undefined
    this.#dispatcher
      .track({ id: name, type: name, payload: { nature }, expiresAt }, { wait, onFailure })
      .then(
        result => this.#tell(name, result),
        (error: unknown) =>
          this.#tell(name, error instanceof TrackingError ? error.result : undefined, error),
      )
  }

  resend(letter: DeadLetter): Promise<unknown> {
    return this.#dispatcher.resend(letter).catch(() => {})
  }

  force(to: 'open' | 'closed' | 'auto'): void {
    for (const sink of Object.keys(this.#dispatcher.health().sinks))
      this.#dispatcher.breaker(sink)?.force(to, 'operator')
  }

  close(): Promise<void> {
    return this.#dispatcher.close()
  }

  get left(): { readonly active: number; readonly waiting: number } {
    const sinks = Object.values(this.#dispatcher.health().sinks)
    return {
      active: sinks.reduce((sum, { inFlight }) => sum + inFlight, 0),
      waiting: sinks.reduce((sum, { buffered, blocked, inFlight }) => sum + buffered + blocked - inFlight, 0),
    }
  }

  #tell(event: string, result: TrackResult | undefined, error?: unknown): void {
    if (!this.#process.isAlive) return
    this.#open--
    const { journal } = this.#process.scene
    const by = this.#process.name
    if (result === undefined)
      journal.note({ what: 'told', event, by, sink: '*', outcome: `refused: ${error}` })
    else
      for (const [sink, { outcome }] of Object.entries(result.sinks))
        journal.note({ what: 'told', event, by, sink, outcome })
  }

  #forgo(event: string, sink: string, reason: string): void {
    const { isAlive, name: by, scene } = this.#process
    if (isAlive) scene.journal.note({ what: 'forgone', event, by, sink, reason })
  }

  #keeps(isUnworthy: (event: LazaretEvent) => boolean, event: LazaretEvent, sink: string): boolean {
    if (!isUnworthy(event)) return true
    this.#forgo(event.id, sink, 'filter')
    return false
  }
}

/** The journal lies on the machine's disk. */
function journalClient(process: Process, disk: MemoryJournal): Journal {
  const { journal } = process.scene
  const by = process.name
  return {
    append: async entry =>
      process.cross('journal', 'append', async () => {
        await disk.append(entry)
        journal.note({ what: 'journaled', event: entry.event.id, by })
      }),
    remove: async event =>
      process.cross('journal', 'remove', async () => {
        await disk.remove(event)
        journal.note({ what: 'unjournaled', event, by })
      }),
    pending: async () => process.cross('journal', 'pending', () => disk.pending()),
    close: async () => {},
  }
}
