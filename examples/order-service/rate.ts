const WINDOW_MS = 1_000

/** How fast a count rises: over the last second, by the times at which it was looked at. */
export class Rate {
  readonly #looks: { readonly atMs: number; readonly count: number }[] = []

  look(count: number): number {
    const atMs = process.uptime() * 1_000
    this.#looks.push({ atMs, count })
    while (this.#looks.length > 2 && this.#looks[1]!.atMs <= atMs - WINDOW_MS) this.#looks.shift()
    const first = this.#looks[0]!
    const elapsedMs = Math.max(WINDOW_MS, atMs - first.atMs)
    return Math.round(((count - first.count) * WINDOW_MS) / elapsedMs)
  }
}
