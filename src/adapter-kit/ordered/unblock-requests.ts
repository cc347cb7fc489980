import { type Cancel, type Clock, monotonicNow } from '../../ports/clock.ts'

/** What becomes of a request that has waited for long. */
interface RequestListener<R> {
  /** Whether the event may die at any moment. */
  isAboutToDie(id: string): boolean
  dropped(request: R): void
}

/** The events that a crashed consumer had begun are handled within this time. An event that dies later has a letter of its own. */
const REMEMBERED_MS = 300_000

/**
 * Requests to unblock a key that came before their event was dead. A letter exists before its key is blocked, so that a person
 * or a program can decide that early. A request waits until its event is dead or done, and is not settled before: the
 * next owner reads it again. It does not wait for long behind other events, because a broker remembers where the oldest
 * unsettled request is.
 */
export class UnblockRequests<R> {
  readonly #clock: Clock
  readonly #listener: RequestListener<R>
  readonly #byId = new Map<string, { readonly request: R; readonly dropAt: number }[]>()
  #cancel: Cancel | undefined

  constructor(clock: Clock, listener: RequestListener<R>) {
    this.#clock = clock
    this.#listener = listener
  }

  add(id: string, request: R): void {
    const waiting = this.#byId.get(id) ?? []
    waiting.push({ request, dropAt: monotonicNow(this.#clock) + REMEMBERED_MS })
    this.#byId.set(id, waiting)
    this.#cancel ??= this.#clock.schedule(REMEMBERED_MS, () => this.#dropOld())
  }

  /** Those for one event, which do not wait any more. */
  take(id: string): readonly R[] {
    const found = this.#byId.get(id) ?? []
    this.#byId.delete(id)
    return found.map(({ request }) => request)
  }

  /** The ids of the events that requests wait for. */
  get ids(): readonly string[] {
    return [...this.#byId.keys()]
  }

  close(): void {
    this.#cancel?.()
    this.#byId.clear()
  }

  #dropOld(): void {
    this.#cancel = undefined
    const now = monotonicNow(this.#clock)
    for (const [id, waiting] of [...this.#byId]) {
      if (this.#listener.isAboutToDie(id) || waiting.some(({ dropAt }) => dropAt > now)) continue
      for (const request of this.take(id)) this.#listener.dropped(request)
    }
    if (this.#byId.size > 0) this.#cancel = this.#clock.schedule(REMEMBERED_MS, () => this.#dropOld())
  }
}
