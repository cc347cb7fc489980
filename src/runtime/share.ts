/**
 * Something that can be closed and that several may use: a broker, a store, a ledger. Consumers, relays, dispatchers and
 * notifiers close what they are given when they are the last of them to use it, so that `createConsumer({ broker: rabbitmq(…) })`
 * needs no second call to end. Callers that want to close it themselves set the option `leaveOpen`. What they make
 * themselves, such as the limiter of `retryLimit: { … }`, they close in any case.
 */
export interface Closeable {
  close?(): Promise<void>
}

const users = new WeakMap<Closeable, number>()
const originals = new WeakMap<Closeable, Closeable>()

/** Registers a wrapper, so that a user of the wrapper counts as a user of the wrapped resource. */
export function registerWrapper<T extends Closeable>(wrapper: T, resource: Closeable): T {
  originals.set(wrapper, originals.get(resource) ?? resource)
  return wrapper
}

export function isSame(one: object, other: object): boolean {
  return (originals.get(one) ?? one) === (originals.get(other) ?? other)
}

/** Whether the resource still has a user. */
export function isInUse(resource: Closeable): boolean {
  return (users.get(originals.get(resource) ?? resource) ?? 0) > 0
}

/** Says that one more uses it. */
export function retain(resource: Closeable): void {
  const original = originals.get(resource) ?? resource
  users.set(original, (users.get(original) ?? 0) + 1)
}

/** Says that one fewer does. The last one closes it, so one broker can serve many consumers, unless it leaves it open. */
export async function release(resource: Closeable, leaveOpen = false): Promise<void> {
  const original = originals.get(resource) ?? resource
  const left = (users.get(original) ?? 1) - 1
  if (left > 0) {
    users.set(original, left)
    return
  }
  users.delete(original)
  if (!leaveOpen) await original.close?.()
}
