/** The server tells and takes times in nanoseconds. */
export const NANOSECONDS_PER_MS = 1_000_000
