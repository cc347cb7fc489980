/** What a query answers with; the part of node-postgres's result that is used here. */
export interface PgResult {
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement selects, and who wrote that names its type
  readonly rows: any[]
  readonly rowCount: number | null
}

/**
 * Whatever takes a statement with `$1` placeholders: a pool, a client, or the handle of an open transaction. That is all
 * `enqueue` and the ledger need of the caller's transaction.
 */
export interface PgQueryable {
  query(text: string, values?: unknown[]): Promise<PgResult>
}

/** A connection that was taken out of a pool. */
export interface PgClient extends PgQueryable {
  /** With an error the connection is not put back but closed. */
  release(error?: Error | boolean): void
  on(event: 'notification', listener: (message: PgNotification) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: what is taken away may listen to anything
  removeListener(event: 'notification' | 'error', listener: (...args: any[]) => void): unknown
}

export interface PgNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** A pool of connections as node-postgres has it. Others fit as long as they look the same from here. */
export interface PgPool extends PgQueryable {
  connect(): Promise<PgClient>
}

export function isPgPool(value: unknown): value is PgPool {
  const pool = value as Partial<PgPool> | null | undefined
  return typeof pool?.query === 'function' && typeof pool.connect === 'function'
}

export function isPgQueryable(value: unknown): value is PgQueryable {
  return typeof (value as Partial<PgQueryable> | null | undefined)?.query === 'function'
}
