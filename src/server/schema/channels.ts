import * as z from 'zod'
import {
  count,
  cursor,
  faults,
  id,
  limit,
  optional,
  optionalText,
  reason,
  storeName,
  text,
  time,
} from './common.ts'
import { breakerStats, consumerNumbers, consumerSum } from './consumers.ts'
import { commandRequest } from './fleet.ts'
import { channelWatch } from './watch.ts'

/** What only the server's own process knows. */
const localBreaker = z.object({
  isLocal: z.boolean().describe('Whether the consumer runs in the process of the server.'),
  retryAt: optional(
    time,
    'The time at which the open breaker in the process of the server admits a probe. Absent otherwise.',
  ),
  breakerStats: optional(
    breakerStats,
    'The statistics of the breaker in the process of the server. Absent without such a breaker.',
  ),
})
const depth = optional(
  count,
  'The number of events in the broker that the handler has not finished. Absent if the broker cannot count.',
)

/** A handler of a channel, summed over the server's own process and all other living ones. */
const channelConsumer = consumerSum.extend({ ...localBreaker.shape, depth })
export type ChannelConsumer = z.infer<typeof channelConsumer>

/** A handler of a channel in one process. */
const channelInstance = consumerNumbers.extend({
  ...localBreaker.shape,
  id: optional(id, 'The id of the process in the fleet. Absent if it is not in the fleet.'),
  store: optional(storeName, 'The store that the process reports to. Absent if it is not in the fleet.'),
  service: optionalText('The name of the service. Absent if the process is not in the fleet.'),
  version: optionalText('The version of the service. Absent if the process does not say.'),
  release: optionalText('The release of the service. Absent if the process does not say.'),
  host: text('The name of the host.'),
  pid: count.describe('The process id on that host.'),
  broker: text('The name of the broker.'),
  silentMs: count.describe(
    'The time since its last report in milliseconds; 0 for the process of the server.',
  ),
  depth,
})
export type ChannelInstance = z.infer<typeof channelInstance>

export const instancesQuery = z.strictObject({
  handler: optional(z.string().min(1).max(200), 'Only this handler of the channel.'),
  limit: limit(500, 50),
  cursor: cursor.optional(),
})

export const channelInstances = z.object({
  instances: z
    .array(channelInstance)
    .describe(
      'The process of the server, which does not count for `limit`, then the other living processes.',
    ),
  cursor: cursor.optional(),
  faults,
})
export type ChannelInstances = z.infer<typeof channelInstances>

export const channel = z.object({
  channel: text('The name of the channel.'),
  consumers: z
    .array(channelConsumer)
    .describe('The consumers of the channel, each summed over all living processes.'),
  letters: z
    .object({
      waiting: count.describe('The number of letters that are dead, quarantined or parked.'),
      total: count.describe('The number of letters in all states.'),
    })
    .describe('The letters of the channel.'),
  inflow: z
    .object({
      perMinute: z
        .array(count)
        .length(60)
        .describe(
          'The number of letters by the minute of their last failure: the last hour, oldest minute first.',
        ),
      lastHour: count.describe('The sum of these minutes.'),
    })
    .describe('The letters of the last hour.'),
  watch: optional(channelWatch, 'The last snapshot of the channel. Absent before the first.'),
})
export type Channel = z.infer<typeof channel>

export const channelList = z.object({
  channels: z.array(channel).describe('The channels, those with the most waiting letters first.'),
  faults,
})
export type ChannelList = z.infer<typeof channelList>

/** The channel after a change of its consumers. */
export const channelChange = channelList.extend({
  requests: z
    .array(commandRequest)
    .describe('The commands to other processes. Read their outcomes with the ids of the requests.'),
})
export type ChannelChange = z.infer<typeof channelChange>

export const oneChannel = z.strictObject({
  channel: z.string().min(1).max(500).describe('The name of the channel.'),
})

const processes = optional(
  z.enum(['all', 'own']),
  '`all` living processes that have the consumer, or only the `own` process of the server. The default is `all`.',
)

export const breakerBody = z.strictObject({
  handler: z.string().min(1).max(200).describe('The handler whose breaker to change.'),
  to: z
    .enum(['open', 'closed', 'auto'])
    .describe('`open` and `closed` force the breaker. `auto` lets the breaker decide again.'),
  processes,
  reason,
})
export type BreakerBody = z.infer<typeof breakerBody>

export const pauseBody = z.strictObject({
  handler: optional(
    z.string().min(1).max(200),
    'The handler to pause or resume. The default is every handler of the channel.',
  ),
  processes,
  reason,
})
export type PauseBody = z.infer<typeof pauseBody>
