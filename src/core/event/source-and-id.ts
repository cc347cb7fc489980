import type { LazaretEvent } from './event.ts'

/** The idempotency key of a foreign CloudEvent. CloudEvents promises that source and id are unique together; the id alone may repeat. */
export function sourceAndId(source: string, id: string): string {
  return `${source}|${id}`
}

/** What tells an event from all others. Our own ids are unique. */
export function identityOf(event: LazaretEvent): string {
  return isKnownBySource(event) ? event.idempotencyKey : event.id
}

/** Whether the event is a foreign CloudEvent without a key of its own, so that its id needs its source to be unique. */
export function isKnownBySource<E extends Partial<Pick<LazaretEvent, 'id' | 'source' | 'idempotencyKey'>>>(
  event: E,
): event is E & { readonly source: string } {
  const { id, source, idempotencyKey } = event
  if (id === undefined || source === undefined || idempotencyKey === id) return false
  return idempotencyKey === sourceAndId(source, id)
}
