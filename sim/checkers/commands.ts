import type { CommandTask } from '../../src/ports/commands.ts'
import type { Plan } from '../draw-plan.ts'
import type { FactOf, History } from '../history.ts'
import { type EndedFleet, type EndedWorld, groupBy } from './checker.ts'
import { wasInterrupted } from './interruptions.ts'

/** Leaving the fleet has four steps, each with the time limit of a report, and late timers can lengthen each step. */
const LEAVE_ALLOWED_MS = 4 * (5_000 + 500)

/**
 * A command of a person is claimed once, by one of its recipients, and executed at most once there. It ends as done, failed
 * or expired, and its outcome is recorded; done means that the process did it. Only a process that was interrupted leaves a
 * command unanswered. The audit log has the request with the name of the person before the command is sent.
 */
export function* commands({ plan, history, fleet }: EndedWorld): Iterable<string> {
  if (fleet === undefined) return
  yield* claims(history)
  yield* executions(plan, history)
  for (const record of fleet.commands) yield* endOf(history, fleet, record)
  for (const { by, tookMs } of history.of('left'))
    if (tookMs > LEAVE_ALLOWED_MS) yield `${by} took ${tookMs} ms to leave the fleet`
}

function* claims(history: History): Iterable<string> {
  const sent = new Map(history.of('commandSent').map(fact => [fact.command, fact]))
  for (const [command, claimed] of groupBy(history.of('commandClaimed'), 'command')) {
    if (claimed.length > 1)
      yield `${command} was claimed ${claimed.length} times: by ${claimed.map(({ by }) => by)}`
    const [{ by }] = claimed as [(typeof claimed)[0]]
    if (!sent.get(command)!.to.includes(by)) yield `${by} claimed ${command}, which was not sent to it`
  }
  for (const [command, ended] of groupBy(history.of('commandEnded'), 'command')) {
    const taken = ended.filter(({ took }) => took).length
    if (taken > 1) yield `the store took ${taken} outcomes of ${command}`
  }
}

/** Each part of a process was called at most once for each claimed command, and at least once for each that is done. */
function* executions(plan: Plan, history: History): Iterable<string> {
  const ended = new Map(history.of('commandEnded').map(fact => [fact.command, fact]))
  const claimed = history.of('commandClaimed')
  for (const [id, calls] of groupBy(history.of('executed'), 'consumer', 'task')) {
    const [call] = calls as [(typeof calls)[0]]
    const meant = claimed.filter(fact => isFor(plan, fact, call))
    if (calls.length > meant.length)
      yield `${id} was executed ${calls.length} times, but only ${meant.length} such commands were claimed`
    const done = meant.filter(({ command }) => ended.get(command)?.ok === true)
    if (calls.length < done.length)
      yield `${id} was executed ${calls.length} times, but ${done.length} such commands are done`
  }
  for (const { command, by, task } of claimed) {
    const end = ended.get(command)
    const isCall = task.kind === 'pause' || task.kind === 'resume' || task.kind === 'breaker'
    if (end?.ok === true && isCall && !history.of('executed').some(call => isFor(plan, { by, task }, call)))
      yield `${command} is done, but ${by} executed no ${task.kind}`
    if (end?.ok === true && task.kind === 'resend') yield* resent(history, command, task, end)
  }
}

function isFor(
  { handlers }: Plan,
  { by, task }: { readonly by: string; readonly task: CommandTask },
  { consumer, handler, task: kind }: FactOf<'executed'>,
): boolean {
  const { sink, handler: wanted, channel } = task
  if (task.kind !== kind || !consumer.startsWith(`${by}/`)) return false
  if (sink !== undefined) return sink === handler
  const own = handlers.find(each => each.name === handler)
  return own?.channel === channel && (wanted ?? handler) === handler
}

function* resent(
  history: History,
  command: string,
  { sink }: CommandTask,
  { result }: FactOf<'commandEnded'>,
): Iterable<string> {
  const { delivered } = result as { readonly delivered: number }
  const written = history.of('written').filter(({ handler }) => handler === sink)
  if (delivered > 0 && written.length === 0)
    yield `${command} reports ${delivered} delivered letters, but the sink ${sink} was never written to`
}

function* endOf(
  history: History,
  { audit }: EndedFleet,
  { name, state, command, claimedBy, outcome }: EndedFleet['commands'][number],
): Iterable<string> {
  const claim = history.of('commandClaimed').find(fact => fact.command === name)
  const isMeant = ({ port }: { readonly port: string }) => port === 'fleet' || port === 'store'
  if (state === 'waiting' || state === 'claimed') yield `${name} (${command.task.kind}) stays ${state}`
  else if (state === 'unanswered' && claim !== undefined) {
    const until = { fromMs: claim.at, untilMs: claim.at + 60_000 }
    if (!wasInterrupted(history.facts, claim.by, until, isMeant))
      yield `${name} (${command.task.kind}) has no answer, but nothing interrupted ${claim.by}`
  } else if ((state === 'done' || state === 'failed') && (outcome === undefined || claimedBy === undefined))
    yield `${name} is ${state} without an outcome`
  // A replay asks processes to validate its plan and to deliver its letters: the audit log has the replay.
  const isOfPlan = command.task.kind === 'validate' && command.reason === 'the plan of a replay'
  if (isOfPlan || command.task.kind === 'deliver') return
  const entry = audit.find(({ detail: { request } = {} }) => request === command.request)
  if (entry?.by !== command.by || entry.action !== `fleet.${command.task.kind}`)
    yield `${name} of ${command.by} is not in the audit log: ${JSON.stringify(entry)}`
}
