import { allCycles } from '../../core/dead-letter/cycles.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { AGENT_PREFIX, type BoundedReplay } from '../../core/options/agents.ts'
import { claimLease } from '../../operations/held-lease.ts'
import type { Replay } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'
import { approveReplay } from '../../replay/control.ts'
import type { ServerContext } from '../context.ts'
import type { NamedStore } from '../stores/federation.ts'

/** The approver of a replay that needs no person. No token and no agent has this name, because of its brackets. */
const CONFIG_APPROVER = '(config: agents.withoutApproval)'
const HOUR_MS = 3_600_000
/**
 * A plan older than this waits for a person. So a replay that was approved within the last hour was planned within the last
 * two, and the newest replays are enough to count.
 */
const MAX_PLAN_AGE_MS = HOUR_MS
/** Only the newest replays are counted; a store that has more of them in two hours asks a person. */
const MAX_COUNTED = 200
/** One server at a time counts and approves, so that the replays of two servers together stay within the bounds. */
const LEASE = { handler: 'lazaret-agents', key: 'approval' }

type Context = Pick<ServerContext, 'clock' | 'needsApproval' | 'agents' | 'stores' | 'agentApprovals'>

/**
 * Approves the plan of an agent if the config lifts the approval of a person for it: every letter is in the channel and young
 * enough, and agents have sent few enough in the last hour. The audit log records the approval with the rule that allowed it.
 */
export async function approveByConfig(context: Context, named: NamedStore, replay: Replay): Promise<boolean> {
  const { needsApproval, agents } = context
  const rules = agents?.withoutApproval ?? []
  // The second person that the server asks for is a person.
  if (needsApproval || replay.state !== 'planned' || !replay.createdBy.startsWith(AGENT_PREFIX)) return false
  if (rules.length === 0) return false
  return context.agentApprovals.run(() =>
    whileOthersWait(context, () => approveByRule(context, named, replay, rules)),
  )
}

/** Returns false if another server is counting: then the plan waits, and the agent may start it once more. */
async function whileOthersWait(
  { stores, clock }: Context,
  approve: () => Promise<boolean>,
): Promise<boolean> {
  const ledger = stores.all.find(({ store }) => store.ledger !== undefined)?.store.ledger
  // A store without a ledger belongs to one process.
  if (ledger === undefined) return approve()
  const answer = await claimLease(ledger, LEASE, clock)
  if (answer.kind !== 'claimed') return false
  try {
    return await approve()
  } finally {
    await answer.lease.release()
  }
}

async function approveByRule(
  context: Context,
  named: NamedStore,
  replay: Replay,
  rules: readonly BoundedReplay[],
): Promise<boolean> {
  const { clock } = context
  for (const rule of rules) {
    if (!(await fits(context, named, replay, rule))) continue
    const { channel, maxLetters, maxAgeMs } = rule
    const reason = `agents.withoutApproval: channel ${channel}, at most ${maxLetters} letters in an hour, no older than ${maxAgeMs} ms`
    await approveReplay(named.store, replay.id, { by: CONFIG_APPROVER, clock, reason })
    return true
  }
  return false
}

async function fits(
  { clock, stores }: Context,
  { store }: NamedStore,
  { id, count, createdAt, patch, to, allowQuarantined }: Replay,
  { channel, maxLetters, maxAgeMs }: BoundedReplay,
): Promise<boolean> {
  const now = clock.now()
  if (count > maxLetters || patch !== undefined || to !== undefined || allowQuarantined) return false
  if (createdAt < now - MAX_PLAN_AGE_MS) return false
  const sent = await Promise.all(stores.all.map(each => approvedLately(each.store, now)))
  if (sent.reduce((sum, letters) => sum + letters, count) > maxLetters) return false
  const items = await store.replays.items(id, { limit: maxLetters + 1 })
  const letters = await Promise.all(items.map(({ letterId }) => store.deadLetters.get(letterId)))
  return letters.every(letter => letter?.channel === channel && firstFailureOf(letter) >= now - maxAgeMs)
}

/** A replay that fails begins a new cycle, and does not make the letter younger. */
function firstFailureOf(letter: DeadLetter): number {
  return Math.min(...allCycles(letter).map(({ firstFailedAt }) => firstFailedAt))
}

/** The number of letters that were approved without a person within the last hour; infinite if it cannot be known. */
async function approvedLately({ replays }: Store, now: number): Promise<number> {
  const newest = await replays.list({ limit: MAX_COUNTED })
  const isComplete = newest.length < MAX_COUNTED || newest.at(-1)!.createdAt < now - HOUR_MS - MAX_PLAN_AGE_MS
  if (!isComplete) return Number.POSITIVE_INFINITY
  return newest
    .filter(({ approvedBy, approvedAt = 0 }) => approvedBy === CONFIG_APPROVER && approvedAt > now - HOUR_MS)
    .reduce((sum, { count }) => sum + count, 0)
}
