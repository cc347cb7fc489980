/** The number of letters in the large stores. */
export const COUNT = 1_000_000
/** The error text of a single letter. */
export const RARE = 'the one that nobody has seen before'

/** The cost of the queries. */
export interface MillionReport {
  readonly openMs: number
  readonly memoryMb: number
  readonly queries: readonly { readonly name: string; readonly ms: readonly number[] }[]
}
