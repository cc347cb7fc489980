import * as z from 'zod'
import { INSTANCE_STATES } from '../../ports/fleet.ts'
import { MAX_TASK_LETTERS } from '../../runtime/fleet/letter-tasks.ts'
import { TASK_KINDS } from '../../runtime/fleet/tasks.ts'
import {
  count,
  cursor,
  faults,
  id,
  json,
  limit,
  optional,
  optionalText,
  reason,
  share,
  storeName,
  text,
  time,
  who,
} from './common.ts'
import { breakerCounts, breakerState, consumerNumbers, consumerSum } from './consumers.ts'

const lag = optional(
  count,
  'The number of events that the handler has not finished. Absent if the broker cannot count.',
)
const hasSchema = optional(
  z.boolean(),
  'Whether it can validate letters. Absent for a consumer without a schema.',
)

const instanceConsumer = consumerNumbers.extend({
  channel: text('The name of the channel.'),
  broker: text('The name of the broker.'),
  lag,
  hasSchema,
})

const sinkNumbers = z.object({
  name: text('The name of the sink.'),
  buffered: count.describe('The number of events in its buffer.'),
  inFlight: count.describe('The number of events in writes that run now.'),
  retrying: count.describe('The number of events that wait for a retry.'),
  delivered: count.describe('The number of events it delivered since the process started.'),
  gaveUp: count.describe('The number of events it gave up on since the process started.'),
  lastDeliveredAt: optional(time, 'The time of the last delivered event. Absent before the first.'),
})
const instanceSink = sinkNumbers.extend({
  breaker: breakerState,
  channel: optionalText('The channel of its dispatcher. Absent if the process does not say.'),
})

const instanceState = z
  .enum(INSTANCE_STATES)
  .describe('`alive`: it reports. `left`: it ended in order. `gone`: it stopped reporting without leaving.')

export const instance = z.object({
  id: id.describe('The id of the process.'),
  store: storeName,
  service: text('The name of the service.'),
  version: optionalText('The version of the service. Absent if the process does not say.'),
  release: optionalText('The release of the service. Absent if the process does not say.'),
  host: text('The name of the host.'),
  pid: count.describe('The process id on that host.'),
  startedAt: time.describe('The time at which the process joined, by its own clock.'),
  state: instanceState,
  seenAt: time.describe('The time of its last report, by the clock of the store.'),
  silentMs: count.describe('The time since its last report in milliseconds.'),
  consumers: z.array(instanceConsumer).describe('The consumers of the process.'),
  sinks: z.array(instanceSink).describe('The sinks of its dispatchers.'),
})
export type FleetInstance = z.infer<typeof instance>

export const fleetQuery = z.strictObject({
  service: optional(z.string().min(1).max(200), 'Only the processes of this service.'),
  state: optional(instanceState, 'Only processes in this state.'),
  store: optional(storeName, 'Only processes that report to this store.'),
  limit: limit(500, 50),
  cursor: cursor.optional(),
})

export const fleetList = z.object({
  instances: z.array(instance).describe('The processes.'),
  cursor: cursor.optional(),
  faults,
})
export type FleetList = z.infer<typeof fleetList>

const service = z.object({
  name: text('The name of the service.'),
  alive: count.describe('The number of its living processes.'),
  gone: count.describe('The number of its processes that stopped reporting without leaving.'),
  left: count.describe('The number of its processes that ended in order.'),
  versions: z
    .array(
      z.object({
        version: optionalText('The version. Absent if the processes do not say.'),
        release: optionalText('The release. Absent if the processes do not say.'),
        processes: count.describe('The number of living processes of this version and release.'),
        failureRate: optional(
          share,
          'The share of the events of the last minute that was retried or became dead letters. Absent without events.',
        ),
      }),
    )
    .describe('The versions and releases of its living processes.'),
  consumers: z
    .array(
      consumerSum.extend({
        channel: text('The name of the channel.'),
        brokers: z.array(z.string()).describe('The names of its brokers.'),
        lag,
        hasSchema,
      }),
    )
    .describe('The consumers of its living processes, each summed over the processes that have it.'),
  sinks: z
    .array(
      sinkNumbers.extend({
        processes: count.describe('The number of living processes that have the sink.'),
        breakers: breakerCounts,
      }),
    )
    .describe('The sinks of its living processes, each summed over the processes that have it.'),
})
export type FleetService = z.infer<typeof service>

export const servicesQuery = fleetQuery.pick({ store: true, limit: true, cursor: true })

export const fleetServices = z.object({
  services: z.array(service).describe('The services, by name.'),
  cursor: cursor.optional(),
  faults,
})
export type FleetServices = z.infer<typeof fleetServices>

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
  host: optionalText('The host of that process. Absent if the fleet does not know it any more.'),
  pid: optional(count, 'Its process id on that host. Absent if the fleet does not know it any more.'),
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
