import { LazaretError } from '../failure/errors.ts'
import { show } from './show.ts'

/** One thing wrong with the options: where, what was received, what would be right. */
export interface Fault {
  /** Dotted path from the options' subject, such as `retry.backoff.baseMs`. */
  readonly path: string
  readonly received: string
  readonly remedy: string
}

/** Held against the last name of a path. Wide enough for its typos, because a mistyped `pasword` is a fault to report. */
const NAMES_A_SECRET = /(?:pass?w|pwd|secret|token|credential|api.?key)[^.]*$/i

/** Collects faults while options are read, so that a person can fix all of them at once. */
export class Faults {
  readonly list: Fault[] = []

  add(path: string, received: unknown, remedy: string): void {
    const hidden = typeof received === 'string' && NAMES_A_SECRET.test(path)
    this.list.push({ path, received: hidden ? 'a value that is not shown' : show(received), remedy })
  }

  /** For a value that may carry a secret, such as a URL with a password: the fault does not show it. */
  addHidden(path: string, received: unknown, remedy: string): void {
    const shown = typeof received === 'string' ? 'a value that is not shown' : typeof received
    this.list.push({ path, received: shown, remedy })
  }

  throwIfAny(subject: string): void {
    if (this.list.length > 0) throw new OptionsError(subject, this.list)
  }
}

/** Options are not valid. `faults` lists every problem with the value received and the remedy. */
export class OptionsError extends LazaretError {
  override readonly name = 'OptionsError'
  readonly faults: readonly Fault[]

  constructor(subject: string, faults: readonly Fault[]) {
    const lines = faults.map(fault => `  ${fault.path}: got ${fault.received}; ${fault.remedy}`)
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
    super(`${subject}: ${count} in the options\n${lines.join('\n')}`, {
      code: 'LAZARET_OPTIONS_INVALID',
      retryable: false,
    })
    this.faults = faults
  }
}
