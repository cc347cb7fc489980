import { isExamined } from '../adapter-kit/query/examined-letters.ts'
import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import { withAudit } from '../adapter-kit/with-audit.ts'
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { hash128 } from '../core/hash.ts'
import { type Clock, yieldToEventLoop } from '../ports/clock.ts'
import type { DeadLetterStore, LetterFilter } from '../ports/dead-letters.ts'
import type { GateCheck, Replay, ReplayOverlap } from '../ports/replays.ts'
import { PlanCancelledError, type Store } from '../ports/store.ts'
import { cancelReplay } from './control.ts'
import { EmptyPlanError } from './empty-plan.ts'
import { findOverlaps } from './overlaps.ts'
import { PlanItems } from './plan-items.ts'
import { type Judged, MAX_JUDGED, PlanJudge } from './plan-judge.ts'
import { type PlanRequest, resolvePlan } from './plan-options.ts'
import type { ReplayEnvironment } from './target.ts'

/** Payloads may be of a megabyte each, and a page is in memory whole. */
const PAGE = 100
const MAX_REMEMBERED = 5_000

type ResolvedPlan = ReturnType<typeof resolvePlan>

/** How far a plan is. */
export interface PlanProgress {
  /** The number of letters that the gates have decided on. */
  readonly checked: number
  /** The number of selected letters [absent if counting them takes as long as the plan]. */
  readonly of?: number | undefined
}

/** What a caller of `planReplay` may follow and cancel. */
export interface PlanOptions {
  /** An abort cancels the plan: nothing is stored, and `PlanCancelledError` is thrown [none]. */
  readonly signal?: AbortSignal | undefined
  /** Called whenever the gates have decided on some hundred more letters [none]. */
  onProgress?(progress: PlanProgress): Promise<void> | void
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
  options: PlanOptions = {},
): Promise<Replay> {
  const { signal } = options
  try {
    return await plan(store, request, environment, options)
  } catch (error) {
    throw signal?.aborted ? new PlanCancelledError() : error
  }
}

async function plan(
  store: Store,
  request: PlanRequest,
  environment: ReplayEnvironment,
  options: PlanOptions,
): Promise<Replay> {
  const { signal } = options
  const { clock, newId } = environment
  const asked = resolvePlan(request)
  const now = clock.now()
  const judge = new PlanJudge(store, asked, environment, now, signal)
  const items = await judgeAll(store, asked, judge, now, options)
  const checks = judge.checks()
  if (items.findings().replay === undefined) throw new EmptyPlanError([...items], checks)
  const overlaps = await findOverlaps(store.replays, () => items.toSend())
  signal?.throwIfAborted()
  const replay = await storePlan(store, { ...asked, overlaps, checks }, items, newId(now), now, signal)
  await cancelUnseenPlan(store, replay, clock, signal)
  return replay
}

/** Cancels a replay whose planner is gone: nobody would know of it. Then it throws PlanCancelledError. */
export async function cancelUnseenPlan(
  store: Store,
  { id, createdBy: by }: Replay,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!signal?.aborted) return
  await cancelReplay(store, id, { by, clock, reason: 'cancelled while it was planned' })
  throw new PlanCancelledError()
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
  { signal, onProgress }: PlanOptions,
): Promise<PlanItems> {
  const of = onProgress && (await countSelected(store.deadLetters, asked))
  const items = new PlanItems(now)
  const sameText = new SameTexts()
  const letters = examined(store.deadLetters, asked, judge, sameText, signal)
  for await (const part of inParts(letters, MAX_JUDGED)) {
    // Between two parts the process can do other work. A small plan is made at once.
    if (items.count > 0) await yieldToEventLoop()
    const verdicts = await judge.decide(part)
    for (const [at, { letterId, fingerprint, occurredAt }] of part.entries()) {
      const { decision, reason } = verdicts[at]!
      items.add({ letterId, decision, reason: reason && sameText.of(reason), fingerprint, occurredAt })
    }
    signal?.throwIfAborted()
    // Letters may have come since they were counted.
    await onProgress?.({ checked: items.count, of: of && Math.max(of, items.count) })
  }
  return items.sort()
}

/** Reads the selected letters and lets each go as soon as it was looked at. */
async function* examined(
  letters: DeadLetterStore,
  asked: ResolvedPlan,
  judge: PlanJudge,
  sameText: SameTexts,
  signal: AbortSignal | undefined,
): AsyncGenerator<Judged & { readonly fingerprint: string; readonly occurredAt: number }> {
  for await (const letter of select(letters, asked)) {
    signal?.throwIfAborted()
    const fingerprint = sameText.of(groupingOf(letter).id)
    yield { ...(await judge.examine(letter)), fingerprint, occurredAt: letter.event.occurredAt }
  }
}

/** The number of letters to check, where the store counts it without reading each. */
async function countSelected(
  letters: DeadLetterStore,
  { ids, filter = {} }: Pick<PlanRequest, 'ids' | 'filter'>,
): Promise<number | undefined> {
  if (ids !== undefined) return new Set(ids).size
  if (filter.search !== undefined || isExamined(filter)) return undefined
  const { count, byState } = await letters.stats(filter)
  if (filter.state !== undefined) return count
  return count - (byState.resolved ?? 0) - (byState.discarded ?? 0)
}

async function storePlan(
  store: Store,
  asked: ResolvedPlan & {
    readonly overlaps: readonly ReplayOverlap[]
    readonly checks: readonly GateCheck[]
  },
  items: PlanItems,
  id: string,
  now: number,
  signal: AbortSignal | undefined,
): Promise<Replay> {
  const replay: Replay = {
    v: 1,
    id,
    state: asked.needsApproval ? 'planned' : 'approved',
    reason: asked.reason,
    createdAt: now,
    createdBy: asked.by,
    selectedBy: { filter: asked.filter, ids: asked.ids },
    count: items.count,
    hash: hash128(items.letterIds().join('\n')),
    findings: items.findings(),
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
  const detail = { reason: asked.reason, count: items.count, hash: replay.hash }
  const entry = { at: now, by: asked.by, action: 'replay.plan', target: replay.id, detail }
  return await withAudit(store.audit, entry, async () => {
    await store.replays.create(replay, items, signal)
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

/** Returns one and the same text for equal texts, so that many letters share it. Only the first few thousand are remembered. */
class SameTexts {
  readonly #known = new Map<string, string>()

  of(text: string): string {
    const known = this.#known.get(text)
    if (known === undefined && this.#known.size < MAX_REMEMBERED) this.#known.set(text, text)
    return known ?? text
  }
}
