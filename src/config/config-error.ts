import { LazaretError } from '../core/failure/errors.ts'
import type { LocatedFault } from './yaml-source.ts'

/** An invalid config file. The message lists every fault with its line. */
export class ConfigError extends LazaretError {
  override readonly name = 'ConfigError'
  readonly file: string
  readonly faults: readonly LocatedFault[]

  constructor(file: string, problem: readonly LocatedFault[] | string, cause?: unknown) {
    const faults = typeof problem === 'string' ? [] : problem
    const lines = faults.map(
      ({ line, path, received, remedy }) => `${file}:${line}: ${path}: got ${received}; ${remedy}`,
    )
    super(typeof problem === 'string' ? `${file}: ${problem}` : lines.join('\n'), {
      code: 'LAZARET_CONFIG_INVALID',
      retryable: false,
      cause,
    })
    this.file = file
    this.faults = faults
  }
}
