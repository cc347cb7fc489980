import type { LazaretError } from '../../core/failure/errors.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import { flag, listener, oneOf, optional, withDefault } from '../../core/options/rules.ts'
import { ConfigError } from '../config-error.ts'
import type { PolicyReload, PolicyWatch, WatchPoliciesOptions } from './policies.ts'
import type { PolicyFile } from './policy-file.ts'
import { watchFile } from './watch-file.ts'

const rules = {
  file: withDefault(flag(), true),
  signal: optional(oneOf('SIGHUP', 'SIGUSR2')),
  onReload: withDefault(listener<(reload: PolicyReload) => void>(), () => {}),
  onError: withDefault(listener<(error: LazaretError) => void>(), warn),
}

/** Reloads when the file changes or the signal comes. */
export function watchPolicies(
  file: PolicyFile,
  reload: () => PolicyReload,
  options: WatchPoliciesOptions,
): PolicyWatch {
  const { signal, onReload, onError, ...given } = resolveOptions('watch', rules, options)
  const failed = (error: unknown) => onError(asConfigError(file.name, error))
  const run = () => {
    let done: PolicyReload
    try {
      done = reload()
    } catch (error) {
      failed(error)
      return
    }
    onReload(done)
  }
  // A folder tells about a file more often than the file changes.
  const changed = () => {
    if (file.hasChanged) run()
  }
  const unwatch = given.file ? watchFile(file.path, changed, failed) : undefined
  if (signal !== undefined) process.on(signal, run)
  return {
    close: () => {
      unwatch?.()
      if (signal !== undefined) process.off(signal, run)
    },
  }
}

function asConfigError(file: string, error: unknown): LazaretError {
  if (error instanceof ConfigError) return error
  return new ConfigError(
    file,
    `cannot be watched (${(error as Error).message}); reload it by a signal`,
    error,
  )
}

function warn({ message, code }: LazaretError): void {
  process.emitWarning(`the policies stay as they are, because the new file has faults: ${message}`, { code })
}
