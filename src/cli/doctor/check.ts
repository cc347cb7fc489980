/** `warn` needs attention; `skip` was not checked; only `fail` makes the exit code 1. */
type CheckStatus = 'ok' | 'warn' | 'skip' | 'fail'

export interface Check {
  readonly name: string
  readonly status: CheckStatus
  /** What was found. */
  readonly found: string
  /** What to do about it; only where something is not ok. */
  readonly remedy?: string | undefined
}

export function ok(name: string, found: string): Check {
  return { name, status: 'ok', found }
}

export function warn(name: string, found: string, remedy: string): Check {
  return { name, status: 'warn', found, remedy }
}

export function fail(name: string, found: string, remedy: string): Check {
  return { name, status: 'fail', found, remedy }
}

/** Splits an error message of the form `what is wrong; what to do` into finding and remedy. */
export function failWith(name: string, error: unknown, remedy: string): Check {
  const { message } = error instanceof Error ? error : new Error(String(error))
  const cut = message.indexOf('; ')
  return cut === -1 ? fail(name, message, remedy) : fail(name, message.slice(0, cut), message.slice(cut + 2))
}
