import { faultText } from '../event/errors.ts'
import { LazaretError } from '../failure/errors.ts'
import type { Fault } from '../options/faults.ts'

/** A stored dead letter that cannot be read, or two letters that cannot be merged. `faults` lists every fault. */
export class LetterError extends LazaretError {
  override readonly name = 'LetterError'
  readonly faults: readonly Fault[]

  constructor(subject: string, faults: readonly Fault[], cause?: unknown) {
    super(faultText(subject, faults), { code: 'LAZARET_LETTER_INVALID', retryable: false, cause })
    this.faults = faults
  }
}
