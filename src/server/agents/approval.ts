import { AGENT_PREFIX, type BoundedReplay } from '../../core/options/agents.ts'
import type { Replay } from '../../ports/replays.ts'
import { approveReplay } from '../../replay/control.ts'
import type { ServerContext } from '../context.ts'
import type { NamedStore } from '../stores/federation.ts'

/** The approver of a replay that needs no person. No token and no agent has this name, because of its brackets. */
const CONFIG_APPROVER = '(config: agents.withoutApproval)'
const HOUR_MS = 3_600_000
/** Only the latest replays are counted; a server that has more in an hour asks a person. */
const MAX_COUNTED = 200

type Context = Pick<ServerContext, 'clock' | 'needsApproval' | 'agents'>

/**
 * Approves the plan of an agent if the config lifts the approval of a person for it: every letter is in the channel and young
 * enough, and agents have sent few enough in the last hour. The audit log records the approval with the rule that allowed it.
 */
export async function approveByConfig(context: Context, named: NamedStore, replay: Replay): Promise<boolean> {
  const { clock, needsApproval, agents } = context
  // The second person that the server asks for is a person.
  if (needsApproval || replay.state !== 'planned' || !replay.createdBy.startsWith(AGENT_PREFIX)) return false
  for (const rule of agents?.withoutApproval ?? []) {
    if (!(await fits(context, named, replay, rule))) continue
    const { channel, maxLetters, maxAgeMs } = rule
    const reason = `agents.withoutApproval: channel ${channel}, at most ${maxLetters} letters in an hour, no older than ${maxAgeMs} ms`
    await approveReplay(named.store, replay.id, { by: CONFIG_APPROVER, clock, reason })
    return true
  }
  return false
}

async function fits(
  { clock }: Context,
  { store }: NamedStore,
  { id, count, patch, to, allowQuarantined }: Replay,
  { channel, maxLetters, maxAgeMs }: BoundedReplay,
): Promise<boolean> {
  if (count > maxLetters || patch !== undefined || to !== undefined || allowQuarantined) return false
  const now = clock.now()
  const recent = await store.replays.list({ limit: MAX_COUNTED })
  const counted = recent.filter(
    ({ approvedBy, approvedAt = 0 }) => approvedBy === CONFIG_APPROVER && approvedAt > now - HOUR_MS,
  )
  const isComplete = recent.length < MAX_COUNTED || recent.at(-1)!.createdAt <= now - HOUR_MS
  if (!isComplete) return false
  if (counted.reduce((sum, each) => sum + each.count, count) > maxLetters) return false
  const items = await store.replays.items(id, { limit: maxLetters + 1 })
  const letters = await Promise.all(items.map(({ letterId }) => store.deadLetters.get(letterId)))
  return letters.every(letter => letter?.channel === channel && letter.cycle.firstFailedAt >= now - maxAgeMs)
}
