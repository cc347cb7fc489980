import * as z from 'zod'
import { ProblemError } from '../../problem.ts'
import { findReplay } from '../../routes/replays.ts'
import { letterFilter } from '../../schema/letters.ts'
import { controlBody, type Findings, findings, planBody, type Replay, replay } from '../../schema/replays.ts'
import { approveByConfig } from '../approval.ts'
import { askRoute, counted, type ToolCall, tool } from '../tool.ts'
import { oneRecord } from './letters.ts'

const nextStep = z
  .enum(['wait_for_approval', 'start_replay', 'a_person_starts_it', 'watch', 'a_person_resumes_it', 'done'])
  .describe(
    'What comes next. `wait_for_approval`: a person approves the replay in the console or with `lazaret replay approve`; then call start_replay.',
  )
type NextStep = z.infer<typeof nextStep>

const agentReplay = replay.extend({ nextStep })
type AgentReplay = z.infer<typeof agentReplay>
const oneReplay = z.strictObject({ id: oneRecord.shape.id })
const control = z.strictObject({ ...oneReplay.shape, ...controlBody.shape })

/** A search in the filter would disclose masked values by its number of letters, so agents select without one. */
const agentFilter = letterFilter.omit({ search: true, error: true, where: true })
/** What an agent may choose. A field that the API gets later is not among it. */
const planInput = z
  .object(planBody.shape)
  .pick({
    ...{ ids: true, store: true, reason: true, stages: true, perSecond: true },
    ...{ haltRefailRatio: true, haltOnSameFingerprint: true, maxAgeMs: true, requireSchema: true },
  })
  .extend({ filter: agentFilter.optional().describe(letterFilterText()) })
  .strict()

function letterFilterText(): string {
  return `${planBody.shape.filter.description} Agents cannot select by search, error or where, because these could disclose masked values.`
}

export const replayTools = [
  tool({
    name: 'plan_replay',
    title: 'Plan a replay',
    about:
      'Plans a replay of dead letters: freezes the selection and checks each letter. It sends nothing. The plan waits for the approval of a person.',
    right: 'replay',
    actions: ['replay.plan'],
    changes: 'A new plan. No letter changes.',
    input: planInput,
    answer: agentReplay,
    run: (call, body) => plan(call, body),
    say: sayReplay,
  }),
  tool({
    name: 'replay_dlq_event',
    title: 'Replay one dead letter',
    about:
      'Plans a replay of one dead letter, and starts it if the config allows that without a person. Otherwise the plan waits for the approval of a person.',
    right: 'replay',
    actions: ['replay.plan', 'replay.start'],
    changes: 'A new plan of one letter. With a rule in agents.withoutApproval the event is sent.',
    input: z.strictObject({ ...oneRecord.shape, reason: planBody.shape.reason }),
    answer: agentReplay,
    async run(call, { id, store, reason }) {
      const planned = await plan(call, { ids: [id], store, reason })
      return start(call, planned.id, reason)
    },
    say: sayReplay,
  }),
  tool({
    name: 'get_replay',
    title: 'Show a replay',
    about:
      'Returns a replay: its plan, the decisions of the gates with their reasons, its state, and the outcomes of its letters. Call it again to watch a running replay.',
    right: 'read',
    actions: [],
    input: oneReplay,
    answer: agentReplay.extend({ gateFindings: findings.shape.findings }),
    async run(call, { id }) {
      const params = { id }
      const shown = await askRoute<Replay>(call, 'GET', '/replays/:id', { params })
      const decided = await askRoute<Findings>(call, 'GET', '/replays/:id/findings', { params })
      return { ...withNextStep(shown), gateFindings: decided.findings }
    },
    say: sayReplay,
  }),
  tool({
    name: 'start_replay',
    title: 'Start a replay',
    about:
      'Starts a replay that a person has approved, stage by stage. A replay without approval keeps waiting, unless the config lifts the approval for it.',
    right: 'replay',
    actions: ['replay.start'],
    changes: 'The letters of the replay are sent again to their consumers.',
    input: control,
    answer: agentReplay,
    run: (call, { id, reason }) => start(call, id, reason),
    say: sayReplay,
  }),
  tool({
    name: 'pause_replay',
    title: 'Pause a replay',
    about: 'Pauses a running replay. A person resumes it in the console or on the command line.',
    right: 'replay',
    actions: ['replay.pause'],
    changes: 'The replay sends no further letters until a person resumes it.',
    input: control,
    answer: agentReplay,
    run: (call, { id, reason }) => steer(call, 'pause', id, reason),
    say: sayReplay,
  }),
  tool({
    name: 'cancel_replay',
    title: 'Cancel a replay',
    about: 'Cancels a replay permanently. Letters that were not sent stay dead.',
    right: 'replay',
    actions: ['replay.cancel'],
    changes: 'The replay ends. Letters that were not sent stay dead.',
    isDestructive: true,
    input: control,
    answer: agentReplay,
    run: (call, { id, reason }) => steer(call, 'cancel', id, reason),
    say: sayReplay,
  }),
]

async function plan(call: ToolCall, body: z.output<typeof planInput>): Promise<AgentReplay> {
  // Every plan of an agent waits for a person.
  const asked = { ...body, needsApproval: true }
  return withNextStep(await askRoute<Replay>(call, 'POST', '/replays', { body: asked }))
}

/** Starts a replay that a person, or a rule of the config, has approved. Otherwise it returns the waiting replay. */
async function start(call: ToolCall, id: string, reason: string | undefined): Promise<AgentReplay> {
  const { context, caller } = call
  context.permissions.require(caller, 'replay.start')
  const { value: found, ...named } = await findReplay(context, id)
  if (found.state === 'approved' && found.approvedBy === undefined)
    throw new ProblemError(
      'conflict',
      'This replay was planned without approval, so a person has to start it in the console or on the command line.',
    )
  if (found.state === 'planned' && !(await approveByConfig(context, named, found)))
    return withNextStep(await askRoute<Replay>(call, 'GET', '/replays/:id', { params: { id } }))
  return steer(call, 'start', id, reason)
}

async function steer(
  call: ToolCall,
  verb: 'start' | 'pause' | 'cancel',
  id: string,
  reason: string | undefined,
): Promise<AgentReplay> {
  const parts = { params: { id }, body: { reason } }
  return withNextStep(await askRoute<Replay>(call, 'POST', `/replays/:id/${verb}`, parts))
}

function withNextStep(shown: Replay): AgentReplay {
  return { ...shown, nextStep: nextStepOf(shown) }
}

function nextStepOf({ state, approvedBy }: Replay): NextStep {
  switch (state) {
    case 'planned':
      return 'wait_for_approval'
    case 'approved':
      return approvedBy === undefined ? 'a_person_starts_it' : 'start_replay'
    case 'running':
      return 'watch'
    case 'paused':
    case 'halted':
      return 'a_person_resumes_it'
    case 'finished':
    case 'cancelled':
      return 'done'
  }
}

function sayReplay({ id, state, count, counts, nextStep: next }: AgentReplay): string {
  const { recovered, failed_same_cause, failed_new_cause, skipped } = counts
  const failed = failed_same_cause + failed_new_cause
  const outcomes = `${counted(count, 'letter')}: ${recovered} recovered, ${failed} failed again, ${skipped} skipped.`
  const waits =
    next === 'wait_for_approval'
      ? ` It waits for the approval of a person, in the console or with: lazaret replay approve ${/^[\dA-Fa-f-]+$/.test(id) ? id : 'ID'}. Nothing was sent.`
      : ''
  return `The replay is ${state}. ${outcomes}${waits}`
}
