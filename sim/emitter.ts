import type { MemoryJournal } from '../src/adapters/memory/journal/journal.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import type { Random } from '../src/core/random.ts'
import type { Journal } from '../src/ports/journal.ts'
import { createDispatcher, type Dispatcher } from '../src/runtime/dispatcher/dispatcher.ts'
import { TrackingError, type TrackResult } from '../src/runtime/dispatcher/track/track-result.ts'
import type { EmitterPlan, TrackPlan } from './plan.ts'
import type { Process } from './process.ts'
import { RecordingBreaker } from './recording-breaker.ts'
import { SimulatedSink } from './simulated-sink.ts'
import type { Letters } from './stores.ts'

/** The tracking part of a process: a dispatcher, and code that tracks events and records their outcomes. */
export class Emitter {
  #open = 0
  readonly #process: Process
  readonly dispatcher: Dispatcher

  constructor(
    process: Process,
    plan: EmitterPlan,
    means: { readonly letters: Letters; readonly random: Random; readonly journal: MemoryJournal },
  ) {
    this.#process = process
    const { tracks } = process.world.plan
    const buffered = (sink: string) => this.dispatcher.health().sinks[sink]?.buffered ?? 0
    const sinks = plan.sinks.map(
      sink => [sink.name, new SimulatedSink(process, sink, () => buffered(sink.name))] as const,
    )
    const overrides = plan.sinks.map(({ name, hasProbe: _, breaker, ...lane }) => [
      name,
      { ...lane, breaker: breaker === 'off' ? 'off' : new RecordingBreaker(process, name, breaker) },
    ])
    const shouldFilter = (event: LazaretEvent) => tracks.get(event.id)?.isFiltered === true
    this.dispatcher = createDispatcher({
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
        // The dispatcher reports every event here that it neither delivers nor keeps.
        eventDropped: ({ name: sink, type: event, reason }) => this.#recordDrop(event, sink, reason),
        letterFiltered: () => {},
      },
      ...(plan.hasFilter
        ? { filter: { saveIf: ({ event, handler }) => this.#keeps(shouldFilter, event, handler) } }
        : {}),
      ...(plan.rateLimit === undefined ? {} : { rateLimit: plan.rateLimit }),
      ...(plan.hasJournal ? { journal: journalClient(process, means.journal) } : {}),
    })
  }

  /**
   * Whether every `track` call has its outcome, no letter is only in memory, no event is on its way to a sink, and the
   * journal is read. Otherwise closing would move events to the journal, and no later process of the ended world would
   * send them. A journal that is never read again keeps the world from becoming idle, which is a violation.
   */
  get isFlushed(): boolean {
    const { active, waiting } = this.left
    const { unsavedLetters, stalls = [] } = this.dispatcher.health()
    return this.#open + active + waiting + unsavedLetters + stalls.length === 0
  }

  track({ name, wait, onFailure, eventKind }: TrackPlan): void {
    const { history, clock } = this.#process.world
    const by = this.#process.name
    history.record({ what: 'tracked', event: name, by })
    this.#open++
    const expiresAt = eventKind === 'expires-soon' ? clock.now() + 300 : undefined
    this.dispatcher
      .track({ id: name, type: name, payload: { eventKind }, expiresAt }, { wait, onFailure })
      .then(
        result => this.#report(name, result),
        (error: unknown) =>
          this.#report(name, error instanceof TrackingError ? error.result : undefined, error),
      )
  }

  resend(letter: DeadLetter): Promise<unknown> {
    return this.dispatcher.resend(letter).catch(() => {})
  }

  force(to: 'open' | 'closed' | 'auto'): void {
    for (const sink of Object.keys(this.dispatcher.health().sinks))
      this.dispatcher.breaker(sink)?.force(to, 'operator')
  }

  close(): Promise<void> {
    return this.dispatcher.close()
  }

  get left(): { readonly active: number; readonly waiting: number } {
    const sinks = Object.values(this.dispatcher.health().sinks)
    return {
      active: sinks.reduce((sum, { inFlight }) => sum + inFlight, 0),
      waiting: sinks.reduce((sum, { buffered, blocked, inFlight }) => sum + buffered + blocked - inFlight, 0),
    }
  }

  #report(event: string, result: TrackResult | undefined, error?: unknown): void {
    if (!this.#process.isAlive) return
    this.#open--
    const { history } = this.#process.world
    const by = this.#process.name
    if (result === undefined)
      history.record({ what: 'reported', event, by, sink: '*', outcome: `refused: ${error}` })
    else
      for (const [sink, { outcome }] of Object.entries(result.sinks))
        history.record({ what: 'reported', event, by, sink, outcome })
  }

  #recordDrop(event: string, sink: string, reason: string): void {
    const { isAlive, name: by, world } = this.#process
    if (isAlive) world.history.record({ what: 'droppedBySink', event, by, sink, reason })
  }

  #keeps(shouldFilter: (event: LazaretEvent) => boolean, event: LazaretEvent, sink: string): boolean {
    if (!shouldFilter(event)) return true
    this.#recordDrop(event.id, sink, 'filter')
    return false
  }
}

/** The journal is on the disk of the machine. */
function journalClient(process: Process, disk: MemoryJournal): Journal {
  const { history } = process.world
  const by = process.name
  return {
    append: async entry =>
      process.callPort('journal', 'append', async () => {
        await disk.append(entry)
        history.record({ what: 'journaled', event: entry.event.id, by })
      }),
    remove: async event =>
      process.callPort('journal', 'remove', async () => {
        await disk.remove(event)
        history.record({ what: 'unjournaled', event, by })
      }),
    pending: async () => process.callPort('journal', 'pending', () => disk.pending()),
    close: async () => {},
  }
}
