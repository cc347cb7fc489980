import { group, resolveBy } from '../../core/options/resolve.ts'
import { oneOf, optional, type Rule, text } from '../../core/options/rules.ts'
import type { Command, CommandOutcome, CommandTask } from '../../ports/commands.ts'
import type { FleetParts } from './report.ts'

/** A task of a command: the options it takes, and what a process does. */
interface TaskType<T> {
  readonly options: Rule<T>
  /** Returns the result. Throws when this process cannot do it. */
  run(parts: FleetParts, options: T, by: string): unknown
}

interface ConsumerTask {
  readonly channel: string
  readonly handler: string | undefined
}

interface BreakerTask {
  readonly to: 'open' | 'closed' | 'auto'
  readonly channel: string | undefined
  readonly handler: string | undefined
  readonly sink: string | undefined
}

const consumerOptions = group({ kind: text(), channel: text(), handler: optional(text()) })

function task<T>(options: Rule<T>, run: TaskType<T>['run']): TaskType<T> {
  return { options, run }
}

/** The tasks that a process executes. `lazaret fleet`, the API and the console offer the same ones. */
export const TASKS = {
  pause: task<ConsumerTask>(consumerOptions, (parts, which) =>
    eachConsumer(parts, which, consumer => consumer.pause()),
  ),
  resume: task<ConsumerTask>(consumerOptions, (parts, which) =>
    eachConsumer(parts, which, consumer => consumer.resume()),
  ),
  breaker: task<BreakerTask>(
    group(
      {
        kind: text(),
        to: oneOf('open', 'closed', 'auto'),
        channel: optional(text()),
        handler: optional(text()),
        sink: optional(text()),
      },
      ({ channel, sink }, fault) => {
        if ((channel === undefined) === (sink === undefined))
          fault('channel', 'give either a channel or a sink')
      },
    ),
    forceBreakers,
  ),
} as const

/** The name of a task. */
type TaskKind = keyof typeof TASKS

/** Checks a task before it is sent. Throws an OptionsError. */
export function resolveTask(given: CommandTask): CommandTask {
  const kind = resolveBy('task.kind', oneOf('pause', 'resume', 'breaker'), given.kind)
  resolveBy<unknown>('task', TASKS[kind].options, given)
  return given
}

/** Executes a command in this process. A command that cannot be executed has failed; it never throws. */
export function executeCommand(parts: FleetParts, { task: given, by }: Command): CommandOutcome {
  try {
    const type: TaskType<unknown> | undefined = Object.hasOwn(TASKS, given.kind)
      ? (TASKS[given.kind as TaskKind] as TaskType<unknown>)
      : undefined
    if (type === undefined)
      throw new Error(`this process does not know the task '${given.kind}'; update the service`)
    return { ok: true, result: type.run(parts, resolveBy('task', type.options, given), by) }
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) }
  }
}

function eachConsumer(
  { consumers }: FleetParts,
  { channel, handler }: ConsumerTask,
  run: (consumer: FleetParts['consumers'][number]) => void,
): { readonly handlers: readonly string[] } {
  const found = consumersOf({ consumers }, channel, handler)
  for (const consumer of found) run(consumer)
  return { handlers: found.map(consumer => consumer.health().handler) }
}

function forceBreakers(
  { consumers, dispatchers }: FleetParts,
  options: BreakerTask,
  by: string,
): { readonly forced: number } {
  const { channel, handler, sink, to } = options
  const breakers =
    sink === undefined
      ? consumersOf({ consumers }, channel!, handler).map(consumer => consumer.breaker)
      : dispatchers.filter(each => Object.hasOwn(each.health().sinks, sink)).map(each => each.breaker(sink))
  const forced = breakers.filter(breaker => breaker !== undefined)
  if (forced.length === 0)
    throw new Error(
      `breaker: ${sink === undefined ? `channel ${channel}` : `sink ${sink}`} has no breaker in this process`,
    )
  for (const breaker of forced) breaker.force(to, by)
  return { forced: forced.length }
}

function consumersOf(
  { consumers }: Pick<FleetParts, 'consumers'>,
  channel: string,
  handler: string | undefined,
) {
  const found = consumers.filter(consumer => {
    const health = consumer.health()
    return health.channel === channel && (handler ?? health.handler) === health.handler
  })
  if (found.length === 0)
    throw new Error(
      `channel ${channel}${handler === undefined ? '' : ` with handler ${handler}`} has no consumer in this process`,
    )
  return found
}
