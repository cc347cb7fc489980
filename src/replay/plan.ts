import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import { withAudit } from '../adapter-kit/with-audit.ts'
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { notReplayable } from '../core/dead-letter/storable-event.ts'
import { readThrown } from '../core/failure/thrown.ts'
import { hash128 } from '../core/hash.ts'
import type { DeadLetterStore, LetterFilter } from '../ports/dead-letters.ts'
import type { Replay, ReplayDecision, ReplayItem, ReplayOverlap } from '../ports/replays.ts'
import type { StandardSchema } from '../ports/schema.ts'
import type { Store } from '../ports/store.ts'
import { AnswerLimit, NoAnswerError } from '../runtime/answer-limit.ts'
import { payloadOf, schemaFault } from '../runtime/schema-fault.ts'
import { countDecisions, EmptyPlanError } from './empty-plan.ts'
import { passGates } from './gates.ts'
import { findOverlaps } from './overlaps.ts'
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
  const items = await judgeAll(store, asked, environment, now)
  const toSend = items.filter(({ decision }) => decision === 'replay')
  if (toSend.length === 0) throw new EmptyPlanError(items)
  const overlaps = await findOverlaps(store.replays, new Set(toSend.map(({ letterId }) => letterId)))
  return storePlan(store, { ...asked, overlaps }, items, environment.newId(now), now)
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
  environment: ReplayEnvironment,
  now: number,
): Promise<readonly ReplayItem[]> {
  const candidates: Candidate[] = []
  const answers = new AnswerLimit(environment.clock)
  for await (const letter of select(store.deadLetters, asked)) {
    const gateDecision = await judge(letter, asked, environment, now, answers)
    candidates.push({
      item: { letterId: letter.id, ...gateDecision, fingerprint: groupingOf(letter).id },
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
  asked: ResolvedPlan & { readonly overlaps: readonly ReplayOverlap[] },
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

/**
 * Runs when planning, and again before each send, because a letter may change in between. `answers` limits the time of
 * schemas and checks. Give one to all letters of a plan, so that a schema that does not answer is not asked for each.
 */
export async function judge(
  letter: DeadLetter,
  asked: Pick<Replay, 'to' | 'patch' | 'maxAgeMs' | 'allowQuarantined' | 'isAutomatic'>,
  environment: ReplayEnvironment,
  now: number,
  answers = new AnswerLimit(environment.clock),
): Promise<{ readonly decision: ReplayDecision; readonly reason: string | undefined }> {
  const channel = asked.to ?? letter.channel
  const handler = channel === letter.channel ? letter.handler : undefined
  const route = await environment.routeOf?.(letter, asked.to)
  return passGates(letter, {
    now,
    maxAgeMs: asked.maxAgeMs,
    isAutomatic: asked.isAutomatic ?? false,
    isEdited: asked.patch !== undefined,
    allowQuarantined: asked.allowQuarantined,
    routeFault: route?.kind === 'none' ? route.reason : undefined,
    unsendable: replacesPayload(asked) ? undefined : notReplayable(letter),
    schemaFault: await payloadFault(letter, asked, environment.schemaOf?.(channel, handler), answers),
    downstreamFault: await downstreamFault(channel, environment, answers),
  })
}

function replacesPayload({ patch }: Pick<Replay, 'patch'>): boolean {
  return patch?.some(({ op, path }) => (op === 'replace' || op === 'add') && path === '') ?? false
}

async function payloadFault(
  letter: DeadLetter,
  asked: Pick<Replay, 'patch'>,
  schema: StandardSchema | undefined,
  answers: AnswerLimit,
): Promise<string | undefined> {
  try {
    const payload = payloadOf(letter, asked)
    return schema && (await schemaFault(schema, payload, answers))
  } catch (error) {
    return readThrown(error).message
  }
}

async function downstreamFault(
  channel: string,
  { downstreamFault: ask }: ReplayEnvironment,
  answers: AnswerLimit,
): Promise<string | undefined> {
  if (ask === undefined) return undefined
  try {
    return await answers.of(channel, 'the check of its consumer', () => ask(channel))
  } catch (error) {
    if (error instanceof NoAnswerError) return error.message
    throw error
  }
}
