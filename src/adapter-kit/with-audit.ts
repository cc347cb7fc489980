// The one way in which a change is audited. The entry is durable before the change begins, so no change goes unaudited.
// It stands for a change that worked; a second entry follows only when something else happened.
import { LetterError } from '../core/dead-letter/errors.ts'
import { EventError } from '../core/event/errors.ts'
import type { JsonValue } from '../core/event/event.ts'
import { withoutCredentials } from '../core/options/show.ts'
import type { AuditEntry, AuditLog } from '../ports/audit.ts'

type Detail = Readonly<Record<string, JsonValue>>

const MAX_PROBLEM_LENGTH = 500

interface AuditedOptions<T> {
  /**
   * Returns the part that a change left undone, for an entry `ACTION.partial`; undefined when the change did what its
   * entry says [none].
   */
  readonly shortfall?: ((result: T) => Detail | undefined) | undefined
  /** Returns the result of a change, for an entry `ACTION.done` [no such entry]. */
  readonly outcome?: ((result: T) => Detail) | undefined
  /** Returns how far a failed change came, for its entry `ACTION.failed` [none]. */
  readonly progress?: (() => Detail) | undefined
}

/**
 * Writes the entry, then makes the change. If the entry cannot be written, nothing is changed. If the change fails, an entry
 * `ACTION.failed` says why; so it does when the change answers undefined, which means that there was nothing to change.
 */
export async function withAudit<T>(
  audit: Pick<AuditLog, 'append'>,
  entry: AuditEntry,
  change: () => Promise<T>,
  { shortfall, outcome, progress }: AuditedOptions<T> = {},
): Promise<T> {
  await audit.append(entry)
  const follow = (ending: string, detail: Detail) =>
    audit.append({ ...entry, action: `${entry.action}.${ending}`, detail: { ...entry.detail, ...detail } })
  let result: T
  try {
    result = await change()
  } catch (error) {
    // What went wrong with the change matters more than that it could not be written down.
    await follow('failed', { ...progress?.(), problem: problemOf(error) }).catch(() => {})
    throw error
  }
  if (result === undefined)
    await follow('failed', { problem: 'another process changed or deleted it in the meantime' })
  if (result === undefined) return result
  const missing = shortfall?.(result)
  if (missing !== undefined) await follow('partial', missing)
  else if (outcome !== undefined) await follow('done', outcome(result))
  return result
}

/** Errors of letters and events quote what is stored, and more people read the log than may see that. */
function problemOf(error: unknown): string {
  if (error instanceof LetterError || error instanceof EventError)
    return `${error.faults.map(({ path }) => path).join(', ')} cannot be read or written`.slice(
      0,
      MAX_PROBLEM_LENGTH,
    )
  const message = error instanceof Error ? error.message : String(error)
  return withoutCredentials(message).slice(0, MAX_PROBLEM_LENGTH)
}
