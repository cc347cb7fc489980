import { LazaretError } from '../../../core/failure/errors.ts'
import { PermanentError, TransientError } from '../../../core/failure/signals.ts'

/** The error itself when it says enough, else one that names the path, the failure and the remedy. */
export function fileSinkError(doing: string, path: string, cause: unknown): LazaretError {
  if (cause instanceof LazaretError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  const { remedy, retryable } = adviceFor((cause as { code?: unknown } | undefined)?.code)
  const message = `${doing} ${path}: ${reason}; ${remedy}`
  return retryable
    ? new TransientError(message, { cause, category: 'integration' })
    : new PermanentError(message, { cause, category: 'integration' })
}

/** A full disk is emptied and a lost mount comes back; what this process may not do, it may not do a second later. */
function adviceFor(code: unknown): { readonly remedy: string; readonly retryable: boolean } {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return { remedy: 'free disk space', retryable: true }
    case 'ENOENT':
      return { remedy: 'put its folder back, or restart the service', retryable: true }
    case 'EMFILE':
    case 'ENFILE':
      return { remedy: 'allow more open files (ulimit -n)', retryable: true }
    case 'EFBIG':
      return { remedy: 'rotate earlier, or allow larger files (ulimit -f)', retryable: false }
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return { remedy: 'give this process write permission, or use another file', retryable: false }
    case 'EISDIR':
    case 'ENOTDIR':
    case 'EEXIST':
      return { remedy: 'give the path of a file inside a folder', retryable: false }
    default:
      return { remedy: 'check the cause', retryable: true }
  }
}
