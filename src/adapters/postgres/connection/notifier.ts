import type { Cancel } from '../../../ports/clock.ts'
import type { PostgresSettings } from '../options.ts'
import { COMMANDS_CHANNEL, NOTIFY_CHANNEL } from '../schema/functions.ts'
import { runQuery } from './query.ts'

/** A name is notified at most this often, because every commit with a NOTIFY waits for one lock of the server. */
const WINDOW_MS = 10
/** Bytes of a payload. The server takes 7 999. */
const MAX_PAYLOAD = 7_900
const SEPARATOR = ' '

/** A NOTIFY channel, and how it says what has something new. */
export interface Notifications {
  readonly channel: typeof NOTIFY_CHANNEL | typeof COMMANDS_CHANNEL
  readonly payloadsOf: (names: readonly string[]) => readonly string[]
}

/** Each payload is the name of a channel of events. */
const OUTBOX_NOTIFICATIONS: Notifications = { channel: NOTIFY_CHANNEL, payloadsOf: names => names }

/** A payload has the ids of many instances: every listening process receives every payload. */
export const COMMAND_NOTIFICATIONS: Notifications = { channel: COMMANDS_CHANNEL, payloadsOf: packInstances }

function packInstances(instances: readonly string[]): readonly string[] {
  const payloads: string[] = []
  for (const instance of instances) {
    const last = payloads.at(-1)
    // An id has ASCII characters only.
    if (last !== undefined && last.length + instance.length < MAX_PAYLOAD)
      payloads[payloads.length - 1] = last + SEPARATOR + instance
    else payloads.push(instance)
  }
  return payloads
}

/** The instances that a payload of COMMAND_NOTIFICATIONS names. */
export function instancesIn(payload: string): readonly string[] {
  return payload.split(SEPARATOR)
}

/**
 * Sends NOTIFY for names that have something new, such as channels of events, and for a busy name only once per window.
 * The first enqueue of a window notifies in its own transaction. The following ones are notified together when the window
 * ends; whatever is committed later still is found by polling, which is frequent while events arrive.
 */
export class Notifier {
  readonly #settings: PostgresSettings
  readonly #notifications: Notifications
  /** Names notified in the current window, and whether something was enqueued since. */
  readonly #recent = new Map<string, { hasMore: boolean }>()
  #cancel: Cancel | undefined

  constructor(settings: PostgresSettings, notifications: Notifications = OUTBOX_NOTIFICATIONS) {
    this.#settings = settings
    this.#notifications = notifications
  }

  /** Answers which of the names the caller has to notify. The others are notified when the window ends. */
  due(names: Iterable<string>): readonly string[] {
    const { notify, clock } = this.#settings
    if (!notify) return []
    const due: string[] = []
    for (const name of names) {
      const recent = this.#recent.get(name)
      if (recent !== undefined) recent.hasMore = true
      else {
        this.#recent.set(name, { hasMore: false })
        due.push(name)
      }
    }
    if (due.length > 0) this.#cancel ??= clock.schedule(WINDOW_MS, () => this.#endWindow())
    return due
  }

  /** Notifies at once, because something can be claimed that could not be claimed before. */
  async notify(...names: readonly string[]): Promise<void> {
    const { pool, notify } = this.#settings
    if (!notify) return
    const { channel, payloadsOf } = this.#notifications
    const statement = `select pg_notify('${channel}', payload) from unnest($1::text[]) as payload`
    await runQuery(pool, 'telling others', statement, [payloadsOf(names)])
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#recent.clear()
  }

  #endWindow(): void {
    this.#cancel = undefined
    const more = [...this.#recent].filter(([, { hasMore }]) => hasMore).map(([name]) => name)
    this.#recent.clear()
    const due = this.due(more)
    // Polling makes up for a notification that cannot be sent.
    if (due.length > 0) this.notify(...due).catch(() => {})
  }
}
