const SEED = 0x9747b28c
const M = 0x5bd1e995

/** The hash by which the Java client chooses the partition of a key. The client's own one works with BigInt. */
export function murmur2(key: Uint8Array): number {
  const { length } = key
  let hash = SEED ^ length
  let at = 0
  for (; at + 4 <= length; at += 4) {
    let part = key[at]! | (key[at + 1]! << 8) | (key[at + 2]! << 16) | (key[at + 3]! << 24)
    part = Math.imul(part, M)
    part ^= part >>> 24
    hash = Math.imul(hash, M) ^ Math.imul(part, M)
  }
  if (at < length) {
    for (let rest = length - at - 1; rest >= 0; rest--) hash ^= key[at + rest]! << (8 * rest)
    hash = Math.imul(hash, M)
  }
  hash ^= hash >>> 13
  hash = Math.imul(hash, M)
  return hash ^ (hash >>> 15)
}

/** The partition of a key, as the default partitioner of the Java client chooses it. */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions
}
