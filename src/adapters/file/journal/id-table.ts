/**
 * Finds the address of an id. The table stores hashes, and reads an id only if two hashes are equal: a Map of a million
 * texts would take four times the memory.
 */
export class IdTable {
  readonly #idAt: (address: number) => string
  readonly #byHash = new Map<number, number>()
  /** Ids whose hash was already in use. */
  readonly #others = new Map<string, number>()

  constructor(idAt: (address: number) => string) {
    this.#idAt = idAt
  }

  get count(): number {
    return this.#byHash.size + this.#others.size
  }

  /** Returns the address of an id with this hash. It calls `id` only if needed. */
  find(hash: number, id: () => string): number | undefined {
    const address = this.#byHash.get(hash)
    if (address === undefined && this.#others.size === 0) return undefined
    const wanted = id()
    return address !== undefined && this.#idAt(address) === wanted ? address : this.#others.get(wanted)
  }

  /** The id of this address must be new. */
  add(hash: number, address: number): void {
    if (this.#byHash.has(hash)) this.#others.set(this.#idAt(address), address)
    else this.#byHash.set(hash, address)
  }

  remove(hash: number, address: number): void {
    if (this.#byHash.get(hash) === address) this.#byHash.delete(hash)
    else this.#others.delete(this.#idAt(address))
  }

  clear(): void {
    this.#byHash.clear()
    this.#others.clear()
  }
}

/** FNV-1a. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return hash
}
