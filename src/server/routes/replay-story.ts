import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Replay } from '../../ports/replays.ts'
import type { Caller } from '../auth/callers.ts'
import type { Room } from '../room.ts'
import {
  type Permission,
  type Replay as ReplayOutside,
  type ReplayVerb,
  replayVerb,
} from '../schema/replays.ts'
import type { NamedStore } from '../stores/federation.ts'
import { planCommand } from '../views/command.ts'
import { filterOutside } from '../views/filter.ts'
import { patchView, replaySummary } from '../views/replay.ts'

/** From which states each is possible; the same as replay/control has. */
const POSSIBLE: { readonly [V in ReplayVerb]: readonly Replay['state'][] } = {
  approve: ['planned'],
  start: ['approved'],
  pause: ['running'],
  resume: ['paused', 'halted'],
  cancel: ['planned', 'approved', 'running', 'paused', 'halted'],
}

/** A replay whole, as the one who asks sees it. */
export async function replayStory(
  room: Room,
  caller: Caller,
  named: NamedStore,
  replay: Replay,
): Promise<ReplayOutside> {
  const { name, store } = named
  const counts = await store.replays.counts(replay.id)
  const selectedBy = room.searches.mayReveal(caller) ? replay.selectedBy : withoutSearch(replay.selectedBy)
  const { filter, ids } = selectedBy
  const patch = patchView(replay, room.masks)
  return {
    ...replaySummary(name, replay, counts),
    selectedBy: {
      filter: filter && filterOutside(filter),
      ids: ids && [...ids],
    },
    perSecond: replay.perSecond,
    halt: { ...replay.halt },
    to: replay.to,
    patch,
    maxAgeMs: replay.maxAgeMs,
    allowQuarantined: replay.allowQuarantined,
    rate: replay.state === 'running' ? room.runner.rateOf(replay.id) : undefined,
    arrivedMeanwhile: await arrivedMeanwhile(
      named,
      replay,
      counts.failed_same_cause + counts.failed_new_cause,
    ),
    command: planCommand({ ...replay, selectedBy }, store.url, patch),
    can: Object.fromEntries(
      replayVerb.options.map(verb => [verb, mayNow(room, caller, named, replay, verb)]),
    ) as Record<ReplayVerb, Permission>,
  }
}

/** What was searched for may be what is masked, and the count says that it is there. */
function withoutSearch(selectedBy: Replay['selectedBy']): Replay['selectedBy'] {
  const { filter } = selectedBy
  return filter?.search === undefined ? selectedBy : { ...selectedBy, filter: { ...filter, search: MASK } }
}

/** Whether the one who asks may do it now, and if not, why. */
export function mayNow(
  room: Room,
  caller: Caller,
  named: NamedStore,
  replay: Replay,
  verb: ReplayVerb,
): Permission {
  const permission = room.permissions.of(caller, `replay.${verb}`)
  if (!permission.allowed) return permission
  const possible = POSSIBLE[verb]
  if (!possible.includes(replay.state))
    return {
      allowed: false,
      why: `It is ${replay.state}; this is possible when it is ${possible.join(' or ')}.`,
    }
  if (verb === 'approve' && replay.createdBy === caller.name)
    return { allowed: false, why: 'You planned it; a second person has to approve it.' }
  if (verb !== 'start' && verb !== 'resume') return permission
  if (room.settings.needsApproval && replay.approvedBy === undefined)
    return { allowed: false, why: 'Nobody has approved it, and here a second person has to; plan it anew.' }
  if (room.targetOf(named) === undefined)
    return { allowed: false, why: `${named.store.url} is no broker, so nothing can be sent from here.` }
  return permission
}

/** Those of the replay itself that failed again are no arrivals. */
async function arrivedMeanwhile(
  { store }: NamedStore,
  { selectedBy: { filter }, createdAt }: Replay,
  failedAgain: number,
): Promise<number | undefined> {
  if (filter === undefined) return undefined
  const justAfter = createdAt + 1
  const after = Math.max(justAfter, filter.after ?? justAfter)
  const { count } = await store.deadLetters.stats({ ...filter, after })
  return Math.max(0, count - failedAgain)
}
