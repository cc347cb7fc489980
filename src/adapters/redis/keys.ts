/**
 * The keys of one prefix. The part in braces decides the slot of a key in a cluster, and a script can change only keys of
 * one slot. So one object of this type makes all keys of a script.
 */
export interface Keys {
  /** `{lazaret}`, or `{lazaret:orders}` for a part with its own slot. The names of all its keys begin with it. */
  readonly tag: string
  /** `{lazaret}:letters:…` */
  of(...parts: readonly string[]): string
}

export const DEFAULT_PREFIX = 'lazaret'

/** `part` gives the keys their own slot, so that a cluster can distribute the parts. */
export function keysOf(prefix: string, ...part: readonly string[]): Keys {
  // A closing brace would end the tag early, and with it would go the promise of one slot.
  const tag = `{${[prefix, ...part].join(':').replaceAll(/[{}]/g, '_')}}`
  return Object.freeze({ tag, of: (...parts: readonly string[]) => `${tag}:${parts.join(':')}` })
}
