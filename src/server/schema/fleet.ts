import * as z from 'zod'
import { MAX_TASK_LETTERS } from '../../runtime/fleet/letter-tasks.ts'
import { TASK_KINDS } from '../../runtime/fleet/tasks.ts'
import { breakerState, pauseReason } from './channels.ts'
import {
  count,
  faults,
  id,
  json,
  optional,
  optionalText,
  reason,
  share,
  storeName,
  text,
  time,
  who,
} from './common.ts'

const instanceConsumer = z.object({
  channel: text('The name of the channel.'),
  handler: text('The name of the handler.'),
  broker: text('The name of the broker.'),
  breaker: breakerState,
  paused: z
    .array(pauseReason)
    .describe('The reasons why the consumer takes no events. Empty while it takes events.'),
  perMinute: z.number().min(0).describe('The number of events that ended in the last minute.'),
  failureRate: share.describe('The share of them that was retried or became dead letters, from 0 to 1.'),
  active: count.describe('The number of attempts that run now.'),
  waiting: count.describe('The number of deliveries that the consumer holds and that wait.'),
  lastProcessedAt: optional(time, 'The time of the last processed event. Absent before the first.'),
  lag: optional(
    count,
    'The number of events that the handler has not finished. Absent if the broker cannot count.',
  ),
  hasSchema: optional(
    z.boolean(),
    'Whether it can validate letters. Absent for a consumer without a schema.',
  ),
})

const instanceSink = z.object({
  name: text('The name of the sink.'),
  breaker: breakerState,
  buffered: count.describe('The number of events in its buffer.'),
  inFlight: count.describe('The number of events in writes that run now.'),
  retrying: count.describe('The number of events that wait for a retry.'),
  delivered: count.describe('The number of events it delivered since the process started.'),
  gaveUp: count.describe('The number of events it gave up on since the process started.'),
  lastDeliveredAt: optional(time, 'The time of the last delivered event. Absent before the first.'),
})

export const instance = z.object({
  id: id.describe('The id of the process.'),
  store: storeName,
  service: text('The name of the service.'),
  version: optionalText('The version of the service. Absent if the process does not say.'),
  release: optionalText('The release of the service. Absent if the process does not say.'),
  host: text('The name of the host.'),
  pid: count.describe('The process id on that host.'),
  startedAt: time.describe('The time at which the process joined, by its own clock.'),
  state: z
    .enum(['alive', 'left', 'gone'])
    .describe(
      '`alive`: it reports. `left`: it ended in order. `gone`: it stopped reporting without leaving.',
    ),
  seenAt: time.describe('The time of its last report, by the clock of the store.'),
  silentMs: count.describe('The time since its last report in milliseconds.'),
  consumers: z.array(instanceConsumer).describe('The consumers of the process.'),
  sinks: z.array(instanceSink).describe('The sinks of its dispatchers.'),
})
export type FleetInstance = z.infer<typeof instance>

export const fleetList = z.object({
  instances: z.array(instance).describe('The processes, in the order of service, start and id.'),
  faults,
})
export type FleetList = z.infer<typeof fleetList>

export const oneInstance = z.object({ instance: id.describe('The id of the process.') })
export const oneRequest = z.object({ request: id.describe('The id of the request.') })

/** The tasks that a process executes. */
export const commandBody = z.strictObject({
  task: z
    .enum(TASK_KINDS)
    .describe(
      'What the processes do: `pause` or `resume` consumers, force a `breaker`, `probe` the health of now, `validate` letters against the schema of a consumer, `resend` the letters of a sink.',
    ),
  channel: optional(z.string().min(1).max(1_000), 'The channel whose consumers do it. Give this or `sink`.'),
  handler: optional(z.string().min(1).max(1_000), 'Only this handler of the channel.'),
  sink: optional(z.string().min(1).max(1_000), 'The sink, for `breaker`, `probe` and `resend`.'),
  to: optional(
    z.enum(['open', 'closed', 'auto']),
    'Needed for `breaker`: `open` and `closed` force it, `auto` ends that.',
  ),
  letters: optional(
    z.array(id).min(1).max(MAX_TASK_LETTERS),
    `For \`validate\` and \`resend\`: the ids of the letters. The default is the newest ${MAX_TASK_LETTERS} dead letters of the channel or sink.`,
  ),
  recipients: optional(
    z.enum(['all', 'any']),
    'Every process that has the channel or sink, or any one of them: the first that takes the command. The default is `any` for `validate` and `resend`, and `all` for the others.',
  ),
  instance: optional(id, 'Only this process. The default is every process that has the channel or sink.'),
  service: optional(z.string().min(1).max(200), 'Only the processes of this service.'),
  store: optional(storeName, 'Only processes that report to this store.'),
  reason,
})
export type CommandBody = z.infer<typeof commandBody>

const commandView = z.object({
  id: id.describe('The id of the command.'),
  instance: optional(
    id,
    'The process that it is for, or that took it. Absent while none of several has taken it.',
  ),
  recipients: z.array(id).describe('The processes that may take it. The first one that does executes it.'),
  state: z
    .enum(['waiting', 'claimed', 'done', 'failed', 'expired', 'unanswered'])
    .describe(
      '`expired`: the process did not take it in time, and it is not executed. `unanswered`: the process took it, and its outcome is unknown.',
    ),
  sentAt: time.describe('The time at which it was sent.'),
  expiresAt: time.describe('The time at which it expires.'),
  endedAt: optional(time, 'The time of the outcome. Absent before it.'),
  result: optional(json, 'The result of a command that is done, masked.'),
  error: optionalText('Why the command failed.'),
})

export const commandRequest = z.object({
  id: id.describe('The id of the request.'),
  store: storeName,
  task: z.record(z.string(), json).describe('What the processes do, and with what.'),
  by: who.describe('The name of the person or token that asked.'),
  reason: optionalText('The reason for the request.'),
  commands: z
    .array(commandView)
    .describe('One command for each process, or one for all that any of them may take.'),
})
export type CommandRequestView = z.infer<typeof commandRequest>

export const commandAnswer = z.object({
  requests: z.array(commandRequest).describe('One request for each store that has such processes.'),
  faults,
})
export type CommandAnswer = z.infer<typeof commandAnswer>
