import type { Observations, Observer } from '../../src/ports/observer.ts'

/** What happened, in its order. */
export class EventLog {
  readonly #entries: { readonly what: string; readonly event: unknown }[] = []
  /** Watches everything that is counted anywhere. */
  readonly observer: Observer

  constructor(watched: readonly (keyof Observations)[]) {
    this.observer = Object.fromEntries(
      watched.map(what => [what, (event: unknown) => void this.#entries.push({ what, event })]),
    )
  }

  all<W extends keyof Observations>(what: W): readonly Observations[W][] {
    return this.#entries.filter(entry => entry.what === what).map(({ event }) => event as Observations[W])
  }
}
