import { PermanentError } from '../../core/failure/signals.ts'

/** A function among the options of a sink threw for an event. It would again, and says nothing about the others. */
export function brokenOption(subject: string, cause: unknown): PermanentError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PermanentError(
    `${subject}: a function of the sink's options threw for this event: ${reason}; mend it`,
    {
      cause,
      category: 'schema',
    },
  )
}
