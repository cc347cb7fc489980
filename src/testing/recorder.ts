import type { Observations, Observer } from '../ports/observer.ts'

/** One observation that a recorder kept. */
export type Recorded = {
  [K in keyof Observations]: { readonly what: K; readonly event: Observations[K] }
}[keyof Observations]

/** An observer that remembers everything in order, for tests that look at what happened. */
export class Recorder {
  readonly all: Recorded[] = []
  /** Hand this to what is to be observed. It answers to every name of the map, so a new observation is seen too. */
  readonly observer: Observer = new Proxy({} as Observer, {
    get: (_, what) => (event: unknown) => {
      this.all.push({ what, event } as Recorded)
    },
  })

  of<K extends keyof Observations>(what: K): Observations[K][] {
    return this.all
      .filter(recorded => recorded.what === what)
      .map(recorded => recorded.event as Observations[K])
  }

  count(what: keyof Observations): number {
    return this.of(what).length
  }
}
