import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { masksOfMoved } from '../../core/dead-letter/moved-masks.ts'
import { givenFields } from '../../core/options/merge.ts'
import { maskChecks } from '../../operations/mask-replay.ts'
import { masksOfResend } from '../../operations/payload-masks.ts'
import { masksOfLetters } from '../../operations/quoted-letters.ts'
import type { Replay } from '../../ports/replays.ts'
import {
  approveReplay,
  cancelReplay,
  pauseReplay,
  type ReplayCommand,
  resumeReplay,
  startReplay,
} from '../../replay/control.ts'
import { describeCheck } from '../../replay/describe-check.ts'
import { EmptyPlanError } from '../../replay/empty-plan.ts'
import type { GateVerdict } from '../../replay/gates.ts'
import { cancelUnseenPlan, type PlanOptions, planReplay } from '../../replay/plan.ts'
import { PlanJudge } from '../../replay/plan-judge.ts'
import { type PlanRequest, resolvePlan } from '../../replay/plan-options.ts'
import { payloadOf } from '../../runtime/schema-fault.ts'
import type { Caller } from '../auth/caller.ts'
import type { ServerContext } from '../context.ts'
import { answerLines, wantsLines } from '../http/json-lines.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import type { Action } from '../schema/me.ts'
import {
  controlBody,
  type PlanBody,
  type PlanLine,
  type Preview,
  planBody,
  preview,
  previewBody,
  type ReplayVerb,
  replay as replaySchema,
} from '../schema/replays.ts'
import type { NamedStore } from '../stores/federation.ts'
import { toLetterFilter } from '../views/filter.ts'
import { createReasonMasker, mostFrequentReasons } from '../views/item-reasons.ts'
import { patchedView, payloadView } from '../views/patched.ts'
import { auditSearch, findLetter, oneId } from './letters.ts'
import { findReplay, type ReplayContext, replayPermission, replayView } from './replays.ts'

const REPLAYS = `${API}/replays`
const PREVIEW_SIZE = 5

type Selection = Pick<PlanBody, 'ids' | 'filter' | 'store'>

type Context = ReplayContext &
  Pick<ServerContext, 'clock' | 'announce' | 'replayDefaults' | 'environmentOf' | 'onError'>

const route = routeFor<Context>()
export const replayChangeRoutes = [
  route({
    method: 'POST',
    path: REPLAYS,
    about:
      'Plans a replay: freezes a selection and checks each letter. Sends nothing. With `Accept: application/x-ndjson` it answers the progress as JSON lines. Closing the connection cancels it.',
    action: 'replay.plan',
    body: planBody,
    answer: replaySchema,
    status: () => 201,
    statuses: [201],
    async handle({ context, caller, request: httpRequest, body }) {
      requireNoMaskedTest(context, caller, body.patch)
      const { named, selected } = await select(context, body)
      const { store: _, filter: __, ids: ___, ...asked } = body
      const given = givenFields(asked)
      const request = {
        ...context.replayDefaults,
        ...(given as Omit<typeof asked, never>),
        ...selected,
        by: caller.name,
        needsApproval: context.needsApproval || body.needsApproval === true,
      }
      // A fault in the options is answered before the first line.
      resolvePlan(request)
      if (body.filter !== undefined) await auditSearch(context, caller, named, toLetterFilter(body.filter))
      await auditTests(context, caller, named, body)
      const run = async (options: PlanOptions) => {
        const replay = await planReplay(named.store, request, context.environmentOf(named), options).catch(
          async (error: unknown) => {
            throw error instanceof EmptyPlanError
              ? await emptyPlanProblem(context, named, error, body)
              : error
          },
        )
        context.announce('replays')
        const view = await replayView(context, caller, named, replay)
        await cancelUnseenPlan(named.store, replay, context.clock, options.signal)
        return view
      }
      if (!wantsLines(httpRequest)) return run({ signal: httpRequest.signal })
      return answerLines<PlanLine>(context, async ({ signal, send }) =>
        send({ done: await run({ signal, onProgress: send }) }),
      )
    },
  }),
  route({
    method: 'POST',
    path: `${REPLAYS}/preview`,
    about: 'Returns a few letters before and after the patch, masked. Plans nothing.',
    action: 'replay.plan',
    body: previewBody,
    answer: preview,
    async handle({ context, caller, body }) {
      requireNoMaskedTest(context, caller, body.patch)
      const { named, sample } = await select(context, body)
      const letters = await sample()
      await auditSearch(context, caller, named, body.filter === undefined ? {} : toLetterFilter(body.filter))
      const judged = await judgeSamples(context, caller, named, letters, body).catch((error: Error) => error)
      const samples = letters.map((letter, at) => {
        const verdict = 'verdicts' in judged ? judged.verdicts[at]! : judged
        return sampleOf(context, named, letter, body, verdict)
      })
      return { samples, ...('notChecked' in judged && { notChecked: judged.notChecked }) }
    },
  }),
  controlRoute('approve', 'Approves a replay. The planner cannot approve it.', approveReplay),
  controlRoute('start', 'Starts a replay, stage by stage.', startReplay),
  controlRoute('pause', 'Pauses a replay until it is resumed.', pauseReplay),
  controlRoute('resume', 'Resumes a paused or halted replay.', resumeReplay),
  controlRoute('cancel', 'Cancels a replay. Letters that were not sent stay dead.', cancelReplay),
]

function controlRoute(
  verb: ReplayVerb,
  about: string,
  steer: (store: NamedStore['store'], id: string, command: ReplayCommand) => Promise<Replay>,
) {
  const action: Action = `replay.${verb}`
  return route({
    method: 'POST',
    path: `${REPLAYS}/:id/${verb}`,
    about,
    action,
    params: oneId,
    body: controlBody,
    answer: replaySchema,
    async handle({ context, caller, params, body: { reason } }) {
      const { value, ...named } = await findReplay(context, params.id)
      const now = replayPermission(context, caller, named, value, verb)
      if (!now.allowed)
        throw new ProblemError('conflict', now.reason ?? 'The replay does not allow this now.')
      const replay = await steer(named.store, value.id, { by: caller.name, clock: context.clock, reason })
      if (replay.state === 'running') context.runner.run(named, replay.id)
      context.announce('replays')
      return replayView(context, caller, named, replay)
    },
  })
}

/** Says why no letter can be sent, with the most frequent reasons, masked. */
async function emptyPlanProblem(
  context: Context,
  named: NamedStore,
  { message, skipped, checks }: EmptyPlanError,
  body: Pick<PlanBody, 'patch'>,
): Promise<ProblemError> {
  const reasons = await mostFrequentReasons(skipped, createReasonMasker(context.masks, named.store, body))
  const details = reasons.map(({ reason, count }) => ` ${count} × ${reason}.`).join('')
  const { masks, clock } = context
  const ageOf = (saidAt: number) => `${Math.round((clock.now() - saidAt) / 1_000)} s ago`
  const shown = await maskChecks(checks, async () => skipped, named.store, body, masks)
  const whose = shown.map(check => ` Gate ${describeCheck(check, ageOf)}.`).join('')
  return new ProblemError(
    'unprocessable',
    `${message[0]!.toUpperCase()}${message.slice(1)}.${details}${whose}`,
  )
}

/** A `test` discloses whether a value is present, so a caller who may not reveal payloads must not use it. */
function requireNoMaskedTest({ searches }: Context, caller: Caller, patch: PlanBody['patch']): void {
  if (searches.mayReveal(caller) || !patch?.some(({ op }) => op === 'test')) return
  throw new ProblemError(
    'forbidden',
    'The patch has a test operation, which could disclose masked values. Remove it, or use a token that may reveal payloads.',
  )
}

/** A plan with a `test` discloses payload values, so the audit log records it like a reveal. */
async function auditTests(
  { masks, clock }: Context,
  caller: Caller,
  { store }: NamedStore,
  { patch, ids, reason }: PlanBody,
): Promise<void> {
  const paths = (patch ?? []).flatMap(({ op, path }) => (op === 'test' ? [path] : []))
  if (paths.length === 0 || masks.hidesNothing === true) return
  const target = ids?.length === 1 ? ids[0]! : 'dead letters'
  const detail = { paths, reason }
  await store.audit.append({ at: clock.now(), by: caller.name, action: 'payload.test', target, detail })
}

/** Resolves the selection to one store, and reads a few of its letters. */
async function select(
  context: Context,
  { ids, filter, store }: Selection,
): Promise<{
  readonly named: NamedStore
  /** Reads the first letters of the selection, for a preview. */
  sample(): Promise<readonly DeadLetter[]>
  readonly selected: Pick<PlanRequest, 'ids' | 'filter'>
}> {
  if (ids === undefined) {
    const named = onlyStore(context, store)
    const inside = toLetterFilter(filter ?? {})
    const sample = async () => {
      const page = await named.store.deadLetters.list({ ...inside, limit: PREVIEW_SIZE })
      return page.letters
    }
    return { named, sample, selected: { filter: inside } }
  }
  const unique = [...new Set(ids)]
  const first = await findLetter(context, unique[0]!, store)
  const letters = await Promise.all(unique.map(id => first.store.deadLetters.get(id)))
  const missing = unique.filter((_, index) => letters[index] === undefined)
  if (missing.length > 0)
    throw new ProblemError(
      'unprocessable',
      `${missing.length} of ${unique.length} letters are not in the store ${first.name}, such as ${missing[0]}. Plan one replay for each store, and remove the IDs of deleted letters.`,
    )
  const { value: _, ...named } = first
  return {
    named,
    sample: async () => letters.slice(0, PREVIEW_SIZE).filter(each => each !== undefined),
    selected: { ids: unique },
  }
}

/** What the gates say of a few letters. Without a route, they check the payload even if nobody can send the letter. */
async function judgeSamples(
  context: Context,
  caller: Caller,
  named: NamedStore,
  letters: readonly DeadLetter[],
  { patch, to }: Pick<PlanBody, 'patch' | 'to'>,
): Promise<{ readonly verdicts: readonly GateVerdict[]; readonly notChecked: string | undefined }> {
  const asked = resolvePlan({ ...context.replayDefaults, reason: 'a look', by: caller.name, to, patch })
  const environment = { ...context.environmentOf(named), routeOf: undefined }
  const judge = new PlanJudge(named.store, asked, environment, context.clock.now())
  const verdicts = await judge.judge(letters)
  const unanswered = judge
    .checks()
    .flatMap(({ gate, answer }) =>
      gate === 'schema' && answer.answeredBy === 'nobody' ? [answer.reason] : [],
    )
  const own = masksOfLetters(letters, { patch }, context.masks)
  return { verdicts, notChecked: unanswered[0] && own.maskText(unanswered[0]) }
}

function sampleOf(
  context: Context,
  named: NamedStore,
  letter: DeadLetter,
  { patch }: Pick<PlanBody, 'patch'>,
  verdict: GateVerdict | Error,
): Preview['samples'][number] {
  const masks = masksOfMoved(letter.event, context.masks)
  const { payload } = letter.event
  const ofTexts = masksOfResend(letter, patch, masks)
  const shown = { letterId: letter.id, store: named.name, before: payloadView(payload, masks) }
  try {
    const after = patch === undefined ? shown.before : patchedView(payload, patch, masks)
    // Throws an error that names the operation that does not fit.
    payloadOf(letter, { patch })
    if (verdict instanceof Error) throw verdict
    const { decision, reason } = verdict
    return {
      ...shown,
      after,
      fault: decision === 'skip_schema' && reason !== undefined ? ofTexts.maskText(reason) : undefined,
    }
  } catch (error) {
    return { ...shown, fault: ofTexts.maskText((error as Error).message) }
  }
}

/** The store to plan in: the named one, or the only one. */
function onlyStore({ stores }: Context, name: string | undefined) {
  const chosen = stores.chosen(name)
  const [only] = chosen
  if (only !== undefined && chosen.length === 1) return only
  const names = chosen.map(each => each.name).join(', ')
  throw new ProblemError('unprocessable', `A filter needs one store. Set store to one of: ${names}.`)
}
