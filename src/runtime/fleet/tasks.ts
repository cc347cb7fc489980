import { group, resolveBy } from '../../core/options/resolve.ts'
import { list, oneOf, optional, type Rule, text } from '../../core/options/rules.ts'
import { isPromiseLike } from '../../core/promise-like.ts'
import type { Command, CommandOutcome, CommandTask } from '../../ports/commands.ts'
import type { Consumer } from '../consumer/consumer.ts'
import { patchRule } from '../json-patch.ts'
import { type DeliverTask, deliverItems, deliverRule } from './deliver.ts'
import { readLags } from './lags.ts'
import {
  MAX_TASK_LETTERS,
  type ResendTask,
  resendLetters,
  type ValidateTask,
  validateLetters,
} from './letter-tasks.ts'
import { dispatchersOf } from './open-parts.ts'
import { consumersOf, type FleetParts, reportParts } from './report.ts'
import type { TaskContext } from './task-context.ts'

/** A task of a command: the options it takes, who executes it, and what a process does. */
interface TaskType<T> {
  readonly options: Rule<T>
  /** Every process that has the channel or sink, or any one of them, unless the person says otherwise. */
  readonly recipients: 'all' | 'any'
  /** Returns the result. Throws or rejects when this process cannot do it. */
  run(parts: FleetParts, options: T, context: TaskContext): unknown
}

interface ConsumerTask {
  readonly channel: string
  readonly handler: string | undefined
}

interface PartTask {
  readonly channel: string | undefined
  readonly handler: string | undefined
  readonly sink: string | undefined
}

interface BreakerTask extends PartTask {
  readonly to: 'open' | 'closed' | 'auto'
}

const consumerRules = { kind: text(), channel: text(), handler: optional(text()) }
const partRules = { ...consumerRules, channel: optional(text()), sink: optional(text()) }
const letterRules = {
  letters: optional(list(text(), { minItems: 1, maxItems: MAX_TASK_LETTERS })),
}

function eitherPart(
  { channel, handler, sink }: PartTask,
  fault: (field: 'channel' | 'handler', remedy: string) => void,
): void {
  if ((channel === undefined) === (sink === undefined)) fault('channel', 'give either a channel or a sink')
  else if (sink !== undefined && handler !== undefined)
    fault('handler', 'leave it out: a sink has no handlers')
}

function task<T>(
  recipients: TaskType<T>['recipients'],
  options: Rule<T>,
  run: TaskType<T>['run'],
): TaskType<T> {
  return { recipients, options, run }
}

/** The tasks that a process executes. `lazaret fleet`, the API and the console offer the same ones. */
export const TASKS = {
  pause: task<ConsumerTask>('all', group(consumerRules), (parts, which) =>
    eachConsumer(parts, which, consumer => consumer.pause()),
  ),
  resume: task<ConsumerTask>('all', group(consumerRules), (parts, which) =>
    eachConsumer(parts, which, consumer => consumer.resume()),
  ),
  breaker: task<BreakerTask>(
    'all',
    group({ ...partRules, to: oneOf('open', 'closed', 'auto') }, eitherPart),
    forceBreakers,
  ),
  probe: task<PartTask>('all', group(partRules, eitherPart), probe),
  validate: task<ValidateTask>(
    'any',
    group({ ...consumerRules, ...letterRules, patch: optional(patchRule) }),
    validateLetters,
  ),
  resend: task<ResendTask>('any', group({ kind: text(), sink: text(), ...letterRules }), resendLetters),
} as const

/** The name of a task. */
type TaskKind = keyof typeof TASKS

/** The names of all tasks. */
export const TASK_KINDS = Object.keys(TASKS) as [TaskKind, ...TaskKind[]]

/** Checks a task before it is sent. Throws an OptionsError. */
export function resolveTask(given: CommandTask): TaskType<unknown> {
  const kind = resolveBy('task.kind', oneOf(...TASK_KINDS), given.kind)
  const type = TASKS[kind] as TaskType<unknown>
  resolveBy('task', type.options, given)
  return type
}

/** `deliver` is not for people: the runner of a replay sends it. */
const ALL_TASKS: { readonly [kind: string]: TaskType<unknown> } = {
  ...TASKS,
  deliver: task<DeliverTask>('any', deliverRule, deliverItems),
}

/**
 * Executes a command in this process. A command that cannot be executed has failed; it never throws or rejects. A task that
 * takes no time is over when this returns.
 */
export function executeCommand(
  parts: FleetParts,
  { task: given, by }: Command,
  circumstances: Pick<TaskContext, 'askedAt' | 'signal'>,
): CommandOutcome | Promise<CommandOutcome> {
  try {
    const type = Object.hasOwn(ALL_TASKS, given.kind) ? ALL_TASKS[given.kind] : undefined
    if (type === undefined)
      throw new Error(`this process does not know the task '${given.kind}'; update the service`)
    const result = type.run(parts, resolveBy('task', type.options, given), { ...circumstances, by })
    return isPromiseLike(result) ? Promise.resolve(result).then(done, failed) : done(result)
  } catch (error) {
    return failed(error)
  }
}

function done(result: unknown): CommandOutcome {
  return { ok: true, result }
}

function failed(error: unknown): CommandOutcome {
  return { ok: false, error: error instanceof Error ? error.message : String(error) }
}

function eachConsumer(
  parts: FleetParts,
  { channel, handler }: ConsumerTask,
  run: (consumer: Consumer) => void,
): { readonly handlers: readonly string[] } {
  const found = consumersOf(parts, channel, handler)
  for (const consumer of found) run(consumer)
  return { handlers: found.map(consumer => consumer.health().handler) }
}

function forceBreakers(
  parts: FleetParts,
  { channel, handler, sink, to }: BreakerTask,
  { by }: TaskContext,
): { readonly forced: number } {
  const breakers =
    sink === undefined
      ? consumersOf(parts, channel!, handler).map(consumer => consumer.breaker)
      : dispatchersOf(parts, sink).map(each => each.breaker(sink))
  const forced = breakers.filter(breaker => breaker !== undefined)
  if (forced.length === 0)
    throw new Error(
      `breaker: ${sink === undefined ? `channel ${channel}` : `sink ${sink}`} has no breaker in this process`,
    )
  for (const breaker of forced) breaker.force(to, by)
  return { forced: forced.length }
}

/** The consumers or the sink as they are now, which can be newer than the last report. */
async function probe(
  { consumers, dispatchers, clock }: FleetParts,
  { channel, handler, sink }: PartTask,
  { signal }: TaskContext,
) {
  if (sink !== undefined) {
    const { sinks } = reportParts({ consumers: [], dispatchers, clock }, new Map())
    const found = sinks.filter(({ name }) => name === sink)
    if (found.length === 0) throw new Error(`sink ${sink}: this process has no such sink`)
    return { sinks: found }
  }
  const found = consumersOf({ consumers }, channel!, handler)
  const lags = await readLags(found, clock, signal)
  return { consumers: reportParts({ consumers: found, dispatchers: [], clock }, lags).consumers }
}
