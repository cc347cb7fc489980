/**
 * Requests to unblock a key that came before their event was dead. A letter exists before its key is blocked, so that a person
 * or a program can decide that early. The requests wait until their event is dead or done, and are not settled before: the
 * next owner of the partition reads them again.
 */
export class UnblockRequests<R> {
  readonly #byPartition = new Map<number, Map<string, R[]>>()

  add(partition: number, id: string, request: R): void {
    const byId = this.#byPartition.get(partition) ?? new Map<string, R[]>()
    this.#byPartition.set(partition, byId)
    byId.set(id, [...(byId.get(id) ?? []), request])
  }

  /** Those for one event, which do not wait any more. */
  take(partition: number, id: string): readonly R[] {
    const byId = this.#byPartition.get(partition)
    const found = byId?.get(id) ?? []
    byId?.delete(id)
    return found
  }

  /** The ids of the events that requests wait for. */
  ids(partition: number): readonly string[] {
    return [...(this.#byPartition.get(partition)?.keys() ?? [])]
  }

  forget(partition: number): void {
    this.#byPartition.delete(partition)
  }
}
