import { STORE_ALERT_KINDS } from '../../core/alert/alert.ts'
import { entriesOf } from '../../operations/audit-entries.ts'
import type { AuditLog } from '../../ports/audit.ts'
import { type StoreAlert, storeAlertKey } from './store-alerts.ts'

const BEGIN = 'notice.begin'
const END = 'notice.end'
/** The actor of these audit entries. */
const WATCH = 'watch'

/** An alert that people were told of, and not yet of its end. */
interface ToldAlert {
  readonly alert: StoreAlert
  readonly since: number
  readonly isFromEarlierServer: boolean
}

/**
 * The alerts of a store that people were told of. The audit log keeps them, so that every server knows them after a
 * restart, and people can look up when they were told.
 */
export class ToldAlerts {
  readonly #audit: AuditLog
  readonly #open = new Map<string, ToldAlert>()
  readonly #endedAt = new Map<string, number>()

  private constructor(audit: AuditLog) {
    this.#audit = audit
  }

  /** Reads the alerts from the audit log. */
  static async read(audit: AuditLog): Promise<ToldAlerts> {
    const told = new ToldAlerts(audit)
    // Entries come newest first: the first one of an alert counts.
    for await (const { at, detail } of entriesOf(audit, END)) {
      const alert = alertOf(detail)
      if (alert !== undefined && !told.#endedAt.has(storeAlertKey(alert)))
        told.#endedAt.set(storeAlertKey(alert), at)
    }
    for await (const { at, detail } of entriesOf(audit, BEGIN)) {
      const alert = alertOf(detail)
      if (alert === undefined || told.#open.has(storeAlertKey(alert)) || at <= told.lastEndOf(alert)) continue
      told.#open.set(storeAlertKey(alert), { alert, since: at, isFromEarlierServer: true })
    }
    return told
  }

  has(alert: StoreAlert): boolean {
    return this.#open.has(storeAlertKey(alert))
  }

  open(): readonly ToldAlert[] {
    return [...this.#open.values()]
  }

  /** When the alert last ended; 0 if it never did. It tells one occurrence from the next. */
  lastEndOf(alert: StoreAlert): number {
    return this.#endedAt.get(storeAlertKey(alert)) ?? 0
  }

  async begin(alert: StoreAlert, at: number): Promise<void> {
    this.#open.set(storeAlertKey(alert), { alert, since: at, isFromEarlierServer: false })
    await this.#append(BEGIN, alert, at)
  }

  async end(alert: StoreAlert, at: number): Promise<void> {
    this.#open.delete(storeAlertKey(alert))
    this.#endedAt.set(storeAlertKey(alert), at)
    await this.#append(END, alert, at)
  }

  #append(action: string, alert: StoreAlert, at: number): Promise<void> {
    const { kind, id, occurrence } = alert
    return this.#audit.append({ at, by: WATCH, action, target: id, detail: { kind, id, occurrence } })
  }
}

function alertOf(detail: Readonly<Record<string, unknown>> = {}): StoreAlert | undefined {
  const { id, occurrence } = detail
  const kind = STORE_ALERT_KINDS.find(known => known === detail['kind'])
  if (kind === undefined || typeof id !== 'string' || typeof occurrence !== 'number') return undefined
  return { kind, id, occurrence }
}
