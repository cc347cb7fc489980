import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import { withAudit } from '../adapter-kit/with-audit.ts'
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { hash128 } from '../core/hash.ts'
import type { DeadLetterStore, LetterFilter } from '../ports/dead-letters.ts'
import type { GateCheck, Replay, ReplayItem, ReplayOverlap } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { countDecisions, EmptyPlanError } from './empty-plan.ts'
import { findOverlaps } from './overlaps.ts'
import { MAX_JUDGED, PlanJudge } from './plan-judge.ts'
import { type PlanRequest, resolvePlan } from './plan-options.ts'
import type { ReplayEnvironment } from './target.ts'

const PAGE = 500

type ResolvedPlan = ReturnType<typeof resolvePlan>

interface Candidate {
  readonly item: Omit<ReplayItem, 'position' | 'status'>
  readonly occurredAt: number
}

/**
 * Freezes a selection and decides on every letter in it, without changing or sending anything. The replay sends exactly the
 * letters of the plan, so a person can approve it. Letters that arrive later are not part of it. A plan without a letter
 * that can be sent is not stored: `EmptyPlanError` says why.
 */
export async function planReplay(
  store: Store,
  request: PlanRequest,
  environment: ReplayEnvironment,
): Promise<Replay> {
  const asked = resolvePlan(request)
  const now = environment.clock.now()
  const judge = new PlanJudge(store, asked, environment, now)
  const items = await judgeAll(store, asked, judge, now)
  const toSend = items.filter(({ decision }) => decision === 'replay')
  const checks = judge.checks()
  if (toSend.length === 0) throw new EmptyPlanError(items, checks)
  const overlaps = await findOverlaps(store.replays, new Set(toSend.map(({ letterId }) => letterId)))
  return storePlan(store, { ...asked, overlaps, checks }, items, environment.newId(now), now)
}

/** Like `planReplay`, for a program that has nothing to do when no letter can be sent. Then it returns undefined. */
export async function planUnlessEmpty(...of: Parameters<typeof planReplay>): Promise<Replay | undefined> {
  try {
    return await planReplay(...of)
  } catch (error) {
    if (error instanceof EmptyPlanError) return undefined
    throw error
  }
}

/** The decision on each selected letter, in the order of sending. */
async function judgeAll(
  store: Store,
  asked: ResolvedPlan,
  judge: PlanJudge,
  now: number,
): Promise<readonly ReplayItem[]> {
  const candidates: Candidate[] = []
  for await (const letters of inParts(select(store.deadLetters, asked), MAX_JUDGED)) {
    const verdicts = await judge.judge(letters)
    for (const [at, letter] of letters.entries())
      candidates.push({
        item: { letterId: letter.id, ...verdicts[at]!, fingerprint: groupingOf(letter).id },
        occurredAt: letter.event.occurredAt,
      })
  }
  // Oldest first, so that handlers see events nearly in their original order.
  candidates.sort((a, b) => a.occurredAt - b.occurredAt || (a.item.letterId < b.item.letterId ? -1 : 1))
  return candidates.map(({ item }, position): ReplayItem => {
    const skipped = item.decision !== 'replay'
    return { ...item, position, status: skipped ? 'skipped' : 'waiting', endedAt: skipped ? now : undefined }
  })
}

async function storePlan(
  store: Store,
  asked: ResolvedPlan & {
    readonly overlaps: readonly ReplayOverlap[]
    readonly checks: readonly GateCheck[]
  },
  items: readonly ReplayItem[],
  id: string,
  now: number,
): Promise<Replay> {
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
    findings: countDecisions(items),
    stages: asked.stages,
    perSecond: asked.perSecond,
    halt: { refailRatio: asked.haltRefailRatio, onSameFingerprint: asked.haltOnSameFingerprint },
    to: asked.to,
    patch: asked.patch,
    maxAgeMs: asked.maxAgeMs,
    allowQuarantined: asked.allowQuarantined,
    needsApproval: asked.needsApproval,
    ...(asked.requireSchema ? { requireSchema: true } : {}),
    checks: asked.checks,
    ...(asked.isAutomatic ? { isAutomatic: true } : {}),
    ...(asked.overlaps.length === 0 ? {} : { overlaps: asked.overlaps }),
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

async function* inParts<T>(all: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let part: T[] = []
  for await (const each of all) {
    part.push(each)
    if (part.length < size) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}
