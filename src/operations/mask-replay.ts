import { masksOfEvent } from '../core/dead-letter/event-masks.ts'
import { maskForDisplay } from '../core/dead-letter/mask.ts'
import { MASK } from '../core/dead-letter/mask-text.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import { masksAt } from '../core/dead-letter/masks-at.ts'
import type { JsonValue } from '../core/event/event.ts'
import type { GateCheck, PatchOperation, Replay, ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { hiddenInPatch } from './payload-masks.ts'
import { MAX_QUOTED_LETTERS, masksOfStoredLetters, quotesError } from './quoted-letters.ts'

type ReplayStore = Pick<Store, 'deadLetters' | 'replays'>

/** The replay as it may be shown: the patch, the answers of the gates and the problem can have values of payloads. */
export async function maskReplay(store: ReplayStore, replay: Replay, masks: Masks): Promise<Replay> {
  const { patch, checks, problem } = replay
  if (masks.hidesNothing === true) return replay
  const items = () => store.replays.items(replay.id, { limit: MAX_QUOTED_LETTERS + 1 })
  return {
    ...replay,
    ...(patch && { patch: maskPatch(patch, masks) }),
    ...(checks && { checks: await maskChecks(checks, items, store, replay, masks) }),
    ...(problem && {
      problem: { ...problem, reason: await maskProblemReason(store, replay, problem.reason, masks) },
    }),
  }
}

/** Masks the values of a patch like the payload paths that they are written to. A text may repeat a masked value of another path. */
function maskPatch(patch: readonly PatchOperation[], masks: Masks): readonly PatchOperation[] {
  const own = masksOfEvent(undefined, masks, hiddenInPatch(patch, masks))
  return patch.map(operation =>
    operation.value === undefined
      ? operation
      : { ...operation, value: maskWritten(operation.value, masksAt(own, operation.path)) },
  )
}

function maskWritten(value: JsonValue, masks: Masks | undefined): JsonValue {
  if (value === null) return null
  return masks === undefined ? MASK : maskForDisplay(value, masks)
}

/** Masks whose word the gates have. The reason why nobody answered can quote an error of a process about a letter of the plan. */
export async function maskChecks(
  checks: readonly GateCheck[],
  readItems: () => Promise<readonly Pick<ReplayItem, 'letterId'>[]>,
  store: Pick<Store, 'deadLetters'>,
  replay: Pick<Replay, 'patch'>,
  masks: Masks,
): Promise<readonly GateCheck[]> {
  const hasError = checks.some(({ answer }) => answer.answeredBy === 'nobody' && quotesError(answer.reason))
  const quoted = hasError ? await readItems() : []
  const ids = quoted.map(({ letterId }) => letterId)
  const own = await masksOfStoredLetters(store, ids, replay, masks)
  return checks.map(check => {
    const { answer } = check
    if (answer.answeredBy !== 'nobody') return check
    return { ...check, answer: { ...answer, reason: own.maskText(answer.reason) } }
  })
}

/** Masks the error of a process about letters that it was to send. These are being sent, or they are the next ones. */
export async function maskProblemReason(
  store: ReplayStore,
  replay: Pick<Replay, 'id' | 'patch'>,
  reason: string,
  masks: Masks,
): Promise<string> {
  const limit = MAX_QUOTED_LETTERS + 1
  const [sent, waiting] = await Promise.all([
    store.replays.items(replay.id, { status: 'sent', limit }),
    store.replays.items(replay.id, { status: 'waiting', limit: MAX_QUOTED_LETTERS / 2 }),
  ])
  // An item that was handed on is no longer part of the problem. If the list is cut, some that are part of it may be missing.
  const isCut = sent.length === limit
  const unsent = isCut ? sent : [...sent.filter(({ handedOn }) => handedOn === undefined), ...waiting]
  const ids = unsent.map(({ letterId }) => letterId)
  const own = await masksOfStoredLetters(store, ids, replay, masks)
  return own.maskText(reason)
}
