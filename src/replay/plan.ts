import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import { withAudit } from '../adapter-kit/with-audit.ts'
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { notReplayable } from '../core/dead-letter/storable-event.ts'
import { readThrown } from '../core/failure/thrown.ts'
import { hash128 } from '../core/hash.ts'
import type { DeadLetterStore, LetterFilter } from '../ports/dead-letters.ts'
import type { Replay, ReplayDecision, ReplayItem } from '../ports/replays.ts'
import type { StandardSchema } from '../ports/schema.ts'
import type { Store } from '../ports/store.ts'
import { passGates } from './gates.ts'
import { type PlanRequest, resolvePlan } from './plan-options.ts'
import { payloadOf } from './resend.ts'
import type { ReplayEnvironment } from './target.ts'

const PAGE = 500

type ResolvedPlan = ReturnType<typeof resolvePlan>

interface Candidate {
  readonly item: Omit<ReplayItem, 'position'>
  readonly occurredAt: number
}

/**
 * Freezes a selection and decides on every letter in it, without changing or sending anything. The replay sends exactly the
 * letters of the plan, so a person can approve it. Letters that arrive later are not part of it.
 */
export async function planReplay(
  store: Store,
  request: PlanRequest,
  environment: ReplayEnvironment,
): Promise<Replay> {
  return await (await preparePlan(store, request, environment)).save()
}

/** Like `planReplay`, for a person's request. Stores nothing and returns undefined when no letter matches. */
export async function planIfAny(
  store: Store,
  request: PlanRequest,
  environment: ReplayEnvironment,
): Promise<Replay | undefined> {
  const plan = await preparePlan(store, request, environment)
  return plan.isEmpty ? undefined : await plan.save()
}

async function preparePlan(store: Store, request: PlanRequest, environment: ReplayEnvironment) {
  const asked = resolvePlan(request)
  const now = environment.clock.now()
  const candidates = await judgeAll(store, asked, environment, now)
  return {
    isEmpty: candidates.length === 0,
    save: () => storePlan(store, asked, candidates, environment.newId(now), now),
  }
}

async function judgeAll(
  store: Store,
  asked: ResolvedPlan,
  environment: ReplayEnvironment,
  now: number,
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = []
  for await (const letter of select(store.deadLetters, asked)) {
    const gateDecision = await judge(letter, asked, environment, now)
    candidates.push({
      item: { letterId: letter.id, ...gateDecision, status: 'waiting', fingerprint: groupingOf(letter).id },
      occurredAt: letter.event.occurredAt,
    })
  }
  // Oldest first, so that handlers see events nearly in their original order.
  return candidates.sort(
    (a, b) => a.occurredAt - b.occurredAt || (a.item.letterId < b.item.letterId ? -1 : 1),
  )
}

async function storePlan(
  store: Store,
  asked: ResolvedPlan,
  candidates: readonly Candidate[],
  id: string,
  now: number,
): Promise<Replay> {
  const items = candidates.map(({ item }, position): ReplayItem => {
    const skipped = item.decision !== 'replay'
    return { ...item, position, status: skipped ? 'skipped' : 'waiting', endedAt: skipped ? now : undefined }
  })
  const replay: Replay = {
    v: 1,
    id,
    state: asked.needsApproval ? 'planned' : 'approved',
    reason: asked.reason,
    createdAt: now,
    createdBy: asked.by,
    selectedBy: { filter: asked.filter, ids: asked.ids },
    count: items.length,
    hash: hash128(items.map(item => item.letterId).join('\n')),
    findings: tally(items),
    stages: asked.stages,
    perSecond: asked.perSecond,
    halt: { refailRatio: asked.haltRefailRatio, onSameFingerprint: asked.haltOnSameFingerprint },
    to: asked.to,
    patch: asked.patch,
    maxAgeMs: asked.maxAgeMs,
    allowQuarantined: asked.allowQuarantined,
    needsApproval: asked.needsApproval,
    ...(asked.isAutomatic ? { isAutomatic: true } : {}),
    stage: 0,
    revision: 0,
  }
  const detail = { reason: asked.reason, count: items.length, hash: replay.hash }
  const entry = { at: now, by: asked.by, action: 'replay.plan', target: replay.id, detail }
  return await withAudit(store.audit, entry, async () => {
    await store.replays.create(replay, items)
    return replay
  })
}

async function* select(
  letters: DeadLetterStore,
  { ids, filter }: { readonly ids: readonly string[] | undefined; readonly filter: LetterFilter | undefined },
): AsyncGenerator<DeadLetter> {
  if (ids !== undefined) {
    for (const id of new Set(ids)) {
      const letter = await letters.get(id)
      if (letter !== undefined) yield letter
    }
    return
  }
  for await (const page of letterPages(letters, filter ?? {}, PAGE))
    for (const letter of page) if (filter?.state !== undefined || isUnfinished(letter)) yield letter
}

/** Resolved and discarded letters are selected only when the filter asks for them. */
function isUnfinished({ state }: DeadLetter): boolean {
  return state !== 'resolved' && state !== 'discarded'
}

/** Runs when planning, and again before each send, because a letter may change in between. */
export async function judge(
  letter: DeadLetter,
  asked: Pick<Replay, 'to' | 'patch' | 'maxAgeMs' | 'allowQuarantined' | 'isAutomatic'>,
  environment: ReplayEnvironment,
  now: number,
): Promise<{ readonly decision: ReplayDecision; readonly reason: string | undefined }> {
  const channel = asked.to ?? letter.channel
  const handler = channel === letter.channel ? letter.handler : undefined
  const route = environment.routeOf?.(letter, asked.to)
  return passGates(letter, {
    now,
    maxAgeMs: asked.maxAgeMs,
    isAutomatic: asked.isAutomatic ?? false,
    isEdited: asked.patch !== undefined,
    allowQuarantined: asked.allowQuarantined,
    routeFault: route?.kind === 'none' ? route.reason : undefined,
    unsendable: replacesPayload(asked) ? undefined : notReplayable(letter),
    schemaFault: await schemaFault(letter, asked, environment.schemaOf?.(channel, handler)),
    downstreamFault: await environment.downstreamFault?.(channel),
  })
}

function replacesPayload({ patch }: Pick<Replay, 'patch'>): boolean {
  return patch?.some(({ op, path }) => (op === 'replace' || op === 'add') && path === '') ?? false
}

async function schemaFault(
  letter: DeadLetter,
  asked: Pick<Replay, 'patch'>,
  schema: StandardSchema | undefined,
): Promise<string | undefined> {
  try {
    const payload = payloadOf(letter, asked)
    const result = await schema?.['~standard'].validate(payload)
    return result?.issues?.map(({ message }) => message).join('; ')
  } catch (error) {
    return readThrown(error).message
  }
}

function tally(items: readonly ReplayItem[]): { readonly [D in ReplayDecision]?: number } {
  const counts: { [D in ReplayDecision]?: number } = {}
  for (const { decision } of items) counts[decision] = (counts[decision] ?? 0) + 1
  return counts
}
