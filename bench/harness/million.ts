/** How many letters a store is filled with to see what so many of them cost. */
export const COUNT = 1_000_000
/** What the error of a single one of them says. */
export const RARE = 'the one that nobody has seen before'

/** What the questions about them cost. */
export interface MillionReport {
  readonly openMs: number
  readonly memoryMb: number
  readonly queries: readonly { readonly name: string; readonly ms: readonly number[] }[]
}
