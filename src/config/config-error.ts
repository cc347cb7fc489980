import { LazaretError } from '../core/failure/errors.ts'
import type { LocatedFault } from './yaml-source.ts'

/** A config file or an object of policies is not valid. The message lists every fault with its line. */
export class ConfigError extends LazaretError {
  override readonly name = 'ConfigError'
  readonly file: string
  readonly faults: readonly LocatedFault[]

  constructor(file: string, problem: readonly LocatedFault[] | string, cause?: unknown) {
    const faults = typeof problem === 'string' ? [] : problem
    const lines = faults.map(({ line, path, received, remedy }) => {
      const place = line === undefined ? path : `${file}:${line}: ${path}`
      return `${place}: got ${received}; ${remedy}`
    })
    super(typeof problem === 'string' ? `${file}: ${problem}` : lines.join('\n'), {
      code: 'LAZARET_CONFIG_INVALID',
      retryable: false,
      cause,
    })
    this.file = file
    this.faults = faults
  }
}
