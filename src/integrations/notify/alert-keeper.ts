import type { OpenAlert } from '../../core/alert/alert.ts'
import { keptAlertsText, readKeptAlerts } from '../../core/alert/kept-alerts.ts'
import { type Cancel, type Clock, settlesWithin } from '../../ports/clock.ts'
import type { OpenAlerts } from '../../ports/notifier.ts'

const READ_WITHIN_MS = 2_000
/** Counts change with each notice. They are written at most this often; the begin and the end of an alert at once. */
const WRITE_EVERY_MS = 1_000

/** Writes the open alerts of a notifier when they change, one write at a time. */
export class AlertKeeper {
  readonly #kept: OpenAlerts
  readonly #clock: Clock
  #text: string | undefined
  #next: (() => Iterable<OpenAlert>) | undefined
  #writing: Promise<void> | undefined
  #cancel: Cancel | undefined

  constructor(kept: OpenAlerts, clock: Clock) {
    this.#kept = kept
    this.#clock = clock
  }

  /** The alerts of the process before; none if they cannot be read in time, because new alerts wait for this. */
  async read(): Promise<readonly OpenAlert[]> {
    let alerts: readonly OpenAlert[] = []
    const reading = Promise.resolve()
      .then(() => this.#kept.read())
      .then(text => {
        if (typeof text === 'string') alerts = readKeptAlerts(text)
      })
    await settlesWithin(this.#clock, READ_WITHIN_MS, reading)
    return alerts
  }

  /** `isUrgent`: people were told something, so the next process must know. */
  keep(open: () => Iterable<OpenAlert>, isUrgent: boolean): void {
    this.#next = open
    if (isUrgent) {
      this.#cancel?.()
      this.#cancel = undefined
      void this.flush()
    } else
      this.#cancel ??= this.#clock.schedule(WRITE_EVERY_MS, () => {
        this.#cancel = undefined
        void this.flush()
      })
  }

  /** Resolves when the newest alerts are written, or their write has failed. The next change writes them again. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #write(): Promise<void> {
    while (this.#next !== undefined) {
      const text = keptAlertsText(this.#next())
      this.#next = undefined
      if (text === this.#text) continue
      try {
        await this.#kept.write(text)
        this.#text = text
      } catch {
        return
      }
    }
  }
}
