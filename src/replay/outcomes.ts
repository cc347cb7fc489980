import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Clock } from '../ports/clock.ts'
import { type DeadLetterStore, isLetterFault } from '../ports/dead-letters.ts'
import type { Observer } from '../ports/observer.ts'
import type { ItemStatus, Replay, ReplayItem, ReplayState } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { observe } from '../runtime/observe.ts'
import { safeObserver } from '../runtime/user-functions/observer-faults.ts'
import { returnGivenUpLetters, returnUnsentLetters } from './unsent.ts'

const SENT_PAGE = 500
/** No call to a store is on its way for longer. */
const LATE_CLAIMS_FOR_MS = 3_600_000
/**
 * States without a runner in which sent letters may still get an outcome. In a finished replay a letter is sent only if a
 * process recorded that it had sent it after the outcome was recorded.
 */
const STATES_WITHOUT_RUNNER: readonly ReplayState[] = ['paused', 'halted', 'cancelled', 'finished']

/**
 * Returns the outcome of a sent letter; undefined while it has none. The outcome follows from the state of the letter: a
 * successful handler resolves it, and a failed one adds its next cycle.
 */
function outcomeOf(item: ReplayItem, letter: DeadLetter | undefined): ItemStatus | undefined {
  if (letter === undefined) return 'lost'
  if (letter.state === 'replaying') return undefined
  if (letter.state === 'resolved') return 'recovered'
  if (letter.state === 'discarded') return 'skipped'
  const isSameCause = letter.cycle.number >= (item.cycle ?? 0) && groupingOf(letter).id === item.fingerprint
  return isSameCause ? 'failed_same_cause' : 'failed_new_cause'
}

interface Ended {
  readonly item: ReplayItem
  readonly letter: DeadLetter | undefined
}

/** Returns the items that have an outcome now. */
async function endedItems(
  letters: DeadLetterStore,
  sent: readonly ReplayItem[],
  now: number,
): Promise<readonly Ended[]> {
  const looked = await Promise.all(sent.map(item => endedItem(letters, item, now)))
  return looked.filter(ended => ended !== undefined)
}

/** The outcome of a letter that this process cannot read is unknown. The other letters of the replay do not wait for it. */
async function endedItem(
  letters: DeadLetterStore,
  item: ReplayItem,
  now: number,
): Promise<Ended | undefined> {
  let letter: DeadLetter | undefined
  try {
    letter = await letters.get(item.letterId)
  } catch (error) {
    if (isLetterFault(error)) return undefined
    throw error
  }
  const status = outcomeOf(item, letter)
  return status && { item: { ...item, status, endedAt: now }, letter }
}

/** Records the outcomes that are known now. It reads the next page only if every item of the page has ended. */
export async function recordOutcomes(
  store: Store,
  { id, isAutomatic }: Pick<Replay, 'id' | 'isAutomatic'>,
  clock: Clock,
  observer: Observer = {},
): Promise<void> {
  const { replays, deadLetters } = store
  for (;;) {
    const sent = await replays.items(id, { status: 'sent', limit: SENT_PAGE })
    const ended = await endedItems(deadLetters, sent, clock.now())
    if (ended.length > 0)
      await replays.record(
        id,
        ended.map(({ item }) => item),
      )
    for (const { item, letter } of ended) observeEnded(observer, { id, isAutomatic }, item.status, letter)
    if (ended.length < SENT_PAGE) return
  }
}

/** Observes the end of an item. The channel of a deleted letter is unknown, so its end is not observed. */
export function observeEnded(
  observer: Observer,
  { id: replayId, isAutomatic = false }: Pick<Replay, 'id' | 'isAutomatic'>,
  status: ItemStatus,
  letter: DeadLetter | undefined,
): void {
  if (!safeObserver(observer).replayItemEnded || letter === undefined) return
  if (status === 'waiting' || status === 'sent' || status === 'lost') return
  const { id: letterId, channel } = letter
  observe(observer, 'replayItemEnded', { channel, letterId, replayId, status, isAutomatic })
}

/** For a replay that was stopped: its runner has ended, but the events that it sent are still handled. */
export async function recordLateOutcomes(
  store: Store,
  replay: Pick<Replay, 'id' | 'state' | 'isAutomatic' | 'endedAt' | 'findings'>,
  clock: Clock,
  observer?: Observer,
): Promise<void> {
  const { id, state, isAutomatic } = replay
  if (!STATES_WITHOUT_RUNNER.includes(state)) return
  await recordOutcomes(store, { id, isAutomatic }, clock, observer)
  // The cancel command leaves this to the runner, which may have crashed.
  if (state === 'cancelled') await returnUnsentLetters(store, id, clock, 'someone else')
  if (state === 'finished' && (await mayHaveLateClaims(store, replay, clock.now())))
    await returnGivenUpLetters(store, id, clock)
}

/** Whether a runner skipped letters, and a claim of an earlier one may still be on its way. A plan claims nothing. */
async function mayHaveLateClaims(
  { replays }: Store,
  { id, endedAt, findings }: Pick<Replay, 'id' | 'endedAt' | 'findings'>,
  now: number,
): Promise<boolean> {
  // The absolute difference also covers a clock that was set back.
  if (endedAt === undefined || Math.abs(now - endedAt) >= LATE_CLAIMS_FOR_MS) return false
  const { replay: _, ...skips } = findings
  const skippedByPlan = Object.values(skips).reduce((sum, count) => sum + count, 0)
  return (await replays.counts(id)).skipped > skippedByPlan
}
