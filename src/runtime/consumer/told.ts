import type { Failure } from '../../core/failure/failure.ts'

/** A failed attempt, once it is known what its failure means and everyone has been told. */
export interface Told {
  readonly thrown: unknown
  readonly failure: Failure
  readonly attempt: number
  readonly startedAt: number
  readonly at: number
}
