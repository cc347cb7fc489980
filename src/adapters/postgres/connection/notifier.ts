import type { Cancel } from '../../../ports/clock.ts'
import type { PostgresSettings } from '../options.ts'
import { NOTIFY_CHANNEL } from '../schema/functions.ts'
import { runQuery } from './query.ts'

/** A channel is notified at most this often, because every commit with a NOTIFY waits for one lock of the server. */
const WINDOW_MS = 10

/**
 * Sends NOTIFY for channels that have something new, and for a busy channel only once per window. The first enqueue of
 * a window notifies in its own transaction. The following ones are notified together when the window ends; whatever is
 * committed later still is found by polling, which is frequent while events arrive.
 */
export class Notifier {
  readonly #settings: PostgresSettings
  /** Channels notified in the current window, and whether something was enqueued since. */
  readonly #recent = new Map<string, { hasMore: boolean }>()
  #cancel: Cancel | undefined

  constructor(settings: PostgresSettings) {
    this.#settings = settings
  }

  /** Answers which of the channels the caller has to notify. The others are notified when the window ends. */
  due(channels: Iterable<string>): readonly string[] {
    const { notify, clock } = this.#settings
    if (!notify) return []
    const due: string[] = []
    for (const channel of channels) {
      const recent = this.#recent.get(channel)
      if (recent !== undefined) recent.hasMore = true
      else {
        this.#recent.set(channel, { hasMore: false })
        due.push(channel)
      }
    }
    if (due.length > 0) this.#cancel ??= clock.schedule(WINDOW_MS, () => this.#endWindow())
    return due
  }

  /** Notifies at once, because events can be claimed that could not be claimed before. */
  async notify(channel: string): Promise<void> {
    const { pool, notify } = this.#settings
    if (!notify) return
    await runQuery(pool, 'telling others', `select pg_notify('${NOTIFY_CHANNEL}', $1)`, [channel])
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#recent.clear()
  }

  #endWindow(): void {
    this.#cancel = undefined
    const more = [...this.#recent].filter(([, { hasMore }]) => hasMore).map(([channel]) => channel)
    this.#recent.clear()
    // Polling makes up for a notification that cannot be sent.
    for (const channel of this.due(more)) this.notify(channel).catch(() => {})
  }
}
