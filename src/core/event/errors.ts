import { LazaretError } from '../failure/errors.ts'
import type { Fault } from '../options/faults.ts'

/** An event that exceeds a limit of size or shape, or a text that is not an event. `faults` lists every fault. */
export class EventError extends LazaretError {
  override readonly name = 'EventError'
  readonly faults: readonly Fault[]

  constructor(subject: string, faults: readonly Fault[], cause?: unknown) {
    super(faultText(subject, faults), { code: 'LAZARET_EVENT_INVALID', retryable: false, cause })
    this.faults = faults
  }
}

/** A CloudEvent cannot be read as an event of Lazaret. `faults` lists every problem. */
export class CloudEventError extends LazaretError {
  override readonly name = 'CloudEventError'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(faultText('CloudEvent', faults), { code: 'LAZARET_CLOUDEVENT_INVALID', retryable: false })
    this.faults = faults
  }
}

/** A sealed event or text cannot be opened. It is left as it is. */
export class SealError extends LazaretError {
  override readonly name = 'SealError'

  constructor(what: string, problem: string, cause?: unknown) {
    super(`${what} ${problem}`, { code: 'LAZARET_SEAL_UNOPENED', retryable: false, cause })
  }
}

export function faultText(subject: string, faults: readonly Fault[]): string {
  const lines = faults.map(fault => `  ${fault.path}: got ${fault.received}; ${fault.remedy}`)
  return `${subject}: ${faults.length === 1 ? '1 fault' : `${faults.length} faults`}\n${lines.join('\n')}`
}
