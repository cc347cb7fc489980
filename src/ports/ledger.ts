/**
 * The name that a handler of a channel has in the ledger: consumers claim and complete under it, and code that calls
 * the ledger directly, or records in its own transaction, uses the same name. It is the handler's name where that is
 * the channel's, which is the default, and `channel/handler` everywhere else: two channels may have handlers of one
 * name.
 */
export function ledgerName(channel: string, handler: string = channel): string {
  // Without the slash in either part, no two pairs can have the same name.
  if (handler === channel && !channel.includes('/')) return handler
  return `${escapeSlash(channel)}/${escapeSlash(handler)}`
}

function escapeSlash(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('/', '%2F')
}

/** The answer of the ledger to a claim of a (handler, idempotency key) pair. */
export type Claim =
  | { readonly kind: 'claimed'; readonly token: string }
  | { readonly kind: 'busy'; readonly until: number }
  | { readonly kind: 'done'; readonly at: number }

/**
 * Records which events a handler has handled, so that a redelivery does not run the handler again. The consumer claims
 * with a lease, runs the handler and completes the claim. A pair is done only after its handler has succeeded, because a
 * pair that is marked earlier would lose the event when the handler fails or the process crashes.
 *
 * - `handler` is what `ledgerName` makes of a channel and a handler; to the ledger it is any text.
 * - `claim` is atomic: of many concurrent claims of one pair exactly one gets it. An expired lease can be claimed
 *   again.
 * - `complete`, `renew` and `release` act only for the token that holds the lease and answer whether it did. A `false`
 *   from `complete` means that another process may have run the handler too, because the lease was too short. The ledger
 *   may treat an expired lease as held until another process claims it.
 * - `renew` makes the lease last `leaseMs` from now on. Consumers call it while a handler runs after its timeout.
 *   After a `false` they claim again: `done` means that the handler's own transaction has recorded the event, `busy`
 *   that the claim is lost.
 * - `complete` is durable when it resolves; a done pair stays done for the ledger's retention.
 * - `forget` makes a done pair claimable again, for an edited event that must run again. It does not end a
 *   lease.
 * - `close` releases connections; leases stay until they expire. Closing twice is safe.
 */
export interface Ledger {
  claim(handler: string, key: string, leaseMs: number): Promise<Claim>
  renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean>
  complete(handler: string, key: string, token: string): Promise<boolean>
  release(handler: string, key: string, token: string): Promise<boolean>
  forget(handler: string, key: string): Promise<void>
  close(): Promise<void>
}
