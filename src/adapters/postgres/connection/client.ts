/** The result of a query: the part of node-postgres's result that the adapter uses. */
export interface PgResult {
  // biome-ignore lint/suspicious/noExplicitAny: a row has what its statement selects, and the caller names the type
  readonly rows: any[]
  readonly rowCount: number | null
}

/**
 * A pool, a client or the handle of an open transaction: it runs a statement with `$1` placeholders. `enqueue` and the
 * ledger need no more of the caller's transaction.
 */
export interface PgQueryable {
  query(text: string, values?: unknown[]): Promise<PgResult>
}

/** A connection that was taken out of a pool. */
export interface PgClient extends PgQueryable {
  /** With an error the connection is closed and not returned to the pool. */
  release(error?: Error | boolean): void
  on(event: 'notification', listener: (message: PgNotification) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: a removed listener may have any parameters
  removeListener(event: 'notification' | 'error', listener: (...args: any[]) => void): unknown
}

/** A message of NOTIFY. */
export interface PgNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** A pool of connections as node-postgres has it. Another pool with the same methods fits too. */
export interface PgPool extends PgQueryable {
  connect(): Promise<PgClient>
}

export function isPgQueryable(value: unknown): value is PgQueryable {
  return typeof (value as Partial<PgQueryable> | null | undefined)?.query === 'function'
}
