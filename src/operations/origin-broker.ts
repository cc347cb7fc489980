// The broker that the origin of a letter names.
import type { Origin } from '../core/dead-letter/letter.ts'
import { LazaretError } from '../core/failure/errors.ts'
import type { Broker } from '../ports/broker.ts'
import type { ReplayRoute } from '../ports/collector.ts'

/** Two brokers of different kinds can have the same name. Older letters do not say the kind. */
export function isFrom(
  { broker, brokerKind }: Origin,
  { name, kind }: Pick<Broker, 'name' | 'kind'>,
): boolean {
  return broker === name && (brokerKind === undefined || kind === undefined || brokerKind === kind)
}

/** Explains to the person who plans the replay why there is no route. `own` is the broker of the store, if it has one. */
export function noRoute(
  { broker, brokerKind, collectedFrom }: Origin,
  own?: string,
): Extract<ReplayRoute, { readonly kind: 'none' }> {
  const redirect = own === undefined ? '' : `, or send it to a channel of '${own}' with --to CHANNEL`
  if (broker === undefined)
    return {
      kind: 'none',
      reason: `it did not come from a broker; only the process whose sink or function failed can send it again${redirect}`,
    }
  if (collectedFrom !== undefined)
    return {
      kind: 'none',
      reason: `it came from broker '${broker}', found in '${collectedFrom}', and there is no route to '${broker}'; configure a collector named '${broker}'${redirect}`,
    }
  return {
    kind: 'none',
    reason: `it came from broker '${broker}', and no ${brokerKind === undefined ? '' : `${brokerKind} `}broker named '${broker}' is configured; add it to brokers in lazaret.yaml${redirect}`,
  }
}

/** Whether the event was certainly not published. */
export function isUnroutable(error: unknown): error is LazaretError {
  return error instanceof LazaretError && error.code === 'LAZARET_BROKER_UNROUTABLE'
}
