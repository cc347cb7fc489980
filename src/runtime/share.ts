/** Something that can be closed and may be used by several owners: a broker, a store, a ledger. */
export interface Closeable {
  close?(): Promise<void>
}

const users = new WeakMap<Closeable, number>()

/** Says that one more uses it. */
export function retain(resource: Closeable): void {
  users.set(resource, (users.get(resource) ?? 0) + 1)
}

/** Says that one fewer does. The last one closes it, so one broker can serve many consumers. */
export async function release(resource: Closeable): Promise<void> {
  const left = (users.get(resource) ?? 1) - 1
  if (left > 0) {
    users.set(resource, left)
    return
  }
  users.delete(resource)
  await resource.close?.()
}
