import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { notReplayable } from '../../../core/dead-letter/storable-event.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import type { ReplayOutcome } from '../../../ports/observer.ts'
import type { DispatcherPolicy } from '../dispatcher-options.ts'
import type { Lane } from '../lane/lane.ts'
import { holdOf } from '../letter-hold.ts'
import { EVERY_SINK } from '../track/entry-limit.ts'
import { observeAsOwn } from '../track/own-context.ts'
import type { TrackResult } from '../track/track-result.ts'
import { Tracked, type TrackingContext } from '../track/tracked.ts'
import type { Resolutions } from './resolutions.ts'

/**
 * Sends a letter's event to the sink that gave up on it, and to no other: they have had it. What fails again comes back
 * to the same letter as its next cycle. A letter for every sink goes to all of them, each of which answers for itself then.
 * What another process sends meanwhile ends here without a word.
 */
export async function resend(
  letter: DeadLetter,
  policy: DispatcherPolicy,
  context: TrackingContext,
  resolutions: Resolutions,
  allLanes: ReadonlyMap<string, Lane>,
): Promise<TrackResult> {
  requireReplayable(letter)
  const lanes = lanesFor(letter, allLanes)
  const { event, job, replays: replay, replayId } = letter
  const names = lanes.map(({ name }) => name)
  const scope = { job, onFailure: 'throw' } as const
  const resent = { replay, replayId, hold: holdOf(letter), isHandedOver: false }
  const tracked = new Tracked(context, event, names, scope, resent)
  const now = policy.clock.now()
  for (const lane of lanes) lane.offer(tracked, now)
  try {
    const result = await tracked.outcome()
    if (tracked.isHandedOver) return result
    await resolutions.resolve(letter)
    tell(letter, policy, 'recovered')
    return result
  } catch (error) {
    if (tracked.isHandedOver) throw error
    // No sink has it, but now each has a letter of its own: the one for all of them is done with.
    if (letter.handler === EVERY_SINK && tracked.isSafe) await resolutions.resolve(letter)
    tell(letter, policy, 'failed_again')
    throw error
  }
}

/** The stored display form is for people; a sink must not take it for the event. */
function requireReplayable(letter: DeadLetter): void {
  const why = notReplayable(letter)
  if (why === undefined) return
  const remedy = `track a new event: the store does not hold this one as it was sent (${why})`
  throw new OptionsError('resend', [{ path: 'letter', received: letter.id, remedy }])
}

function lanesFor({ handler, id }: DeadLetter, lanes: ReadonlyMap<string, Lane>): readonly Lane[] {
  if (handler === EVERY_SINK) return [...lanes.values()]
  const lane = lanes.get(handler)
  if (lane !== undefined) return [lane]
  const remedy = `resend letter ${id} with a dispatcher that has this sink; this one has ${[...lanes.keys()].join(', ')}`
  throw new OptionsError('resend', [{ path: 'letter.handler', received: handler, remedy }])
}

function tell({ id: letterId, channel }: DeadLetter, policy: DispatcherPolicy, outcome: ReplayOutcome): void {
  const { observer } = policy
  if (observer.replayOutcome) observeAsOwn(observer, 'replayOutcome', { channel, letterId, outcome })
}
