import type { Observations, Observer } from '../ports/observer.ts'

/** One recorded observation. */
export type Recorded = {
  [K in keyof Observations]: { readonly what: K; readonly event: Observations[K] }
}[keyof Observations]

/** An observer that records every observation in order. */
export class Recorder {
  readonly all: Recorded[] = []
  /**
   * The observer to pass to the code under test. It accepts every name, so it also records observations that are added
   * later.
   */
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
