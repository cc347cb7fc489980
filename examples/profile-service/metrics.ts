import type { Observer } from 'lazaret'

type Labels = Readonly<Record<string, string>>

/**
 * Counts what the consumer tells and prints it in the text format of Prometheus. A few counters and gauges under the
 * names that Lazaret's metrics have, no histograms: enough to see the service work.
 */
export class Metrics {
  /** By series, such as `lazaret_events_processed_total{channel="users",outcome="done"}`. */
  readonly #values = new Map<string, number>()

  readonly observer = {
    eventProcessed: ({ channel, outcome }) => this.#count('events_processed_total', { channel, outcome }),
    retryScheduled: ({ name }) => this.#count('retry_attempts_total', { name }),
    letterSaved: ({ channel, letter }) =>
      this.#count('dlq_saved_total', { channel, reason: letter.cycle.reason }),
    breakerChanged: ({ name, to }) => {
      if (to === 'open') this.#count('breaker_opened_total', { name })
      if (to === 'closed') this.#count('breaker_closed_total', { name })
    },
  } satisfies Observer

  gauge(name: string, labels: Labels, value: number): void {
    this.#values.set(series(name, labels), value)
  }

  text(): string {
    const lines: string[] = []
    let last = ''
    for (const [each, value] of [...this.#values].sort()) {
      const name = each.slice(0, each.indexOf('{'))
      if (name !== last) lines.push(`# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`)
      lines.push(`${each} ${value}`)
      last = name
    }
    return `${lines.join('\n')}\n`
  }

  #count(name: string, labels: Labels): void {
    const counter = series(name, labels)
    this.#values.set(counter, (this.#values.get(counter) ?? 0) + 1)
  }
}

/** The values are names of channels, handlers and reasons: nothing in them needs escaping. */
function series(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return `lazaret_${name}{${pairs.join(',')}}`
}
