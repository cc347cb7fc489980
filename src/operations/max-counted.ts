/**
 * People wait for a count. A store that has counts gives them, however many letters match; a store that would have to read
 * every letter stops at this many, which takes a fraction of a second.
 */
export const MAX_COUNTED = 100_000
