import { isPlainObject } from '../../core/event/plain.ts'
import type { Replay } from '../../ports/replays.ts'

/** Reads replays that a store keeps as JSON. A text that is not a replay is left out, so that it hides no other. */
export function readReplays(texts: readonly string[]): Replay[] {
  return texts.flatMap(text => {
    try {
      const value: unknown = JSON.parse(text)
      return isReplay(value) ? [value] : []
    } catch {
      return []
    }
  })
}

/** What lists and servers look at before they do anything with a replay. */
function isReplay(value: unknown): value is Replay {
  if (!isPlainObject(value)) return false
  const { id, state, reason, createdAt, revision, stages, selectedBy, findings, halt } = value
  return (
    [id, state, reason].every(part => typeof part === 'string') &&
    [createdAt, revision].every(Number.isFinite) &&
    [selectedBy, findings, halt].every(isPlainObject) &&
    Array.isArray(stages)
  )
}
