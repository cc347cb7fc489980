import { CHANNEL_NAME, MAX_CHANNEL_BYTES } from '../../../core/event/limits.ts'
import { APP_ID, OWN, textOf } from '../broker/wire/headers.ts'
import { readExchange } from '../broker/wire/message-log.ts'
import type { AmqpHeaders, AmqpMessage } from '../connection/amqp.ts'
import type { Death } from './deaths.ts'
import type { Fault } from './faults.ts'

/** Who gave up on a message, and where it has to go to be handled. */
export interface Place {
  readonly channel: string
  readonly handler: string
  readonly queue: string
  readonly exchange: string
  readonly routingKey: string
  /** Lazaret published the message; only the letter is another's. */
  readonly isOwn: boolean
}

/**
 * The queue that failed is the one the server took it from, or the one the framework names; else the dead-letter queue's
 * own name without its ending. It goes back the way it came; where nobody tells that way, straight into the queue.
 */
export function placeOf(
  message: AmqpMessage,
  foundIn: string,
  [death]: readonly Death[],
  fault: Fault | undefined,
): Place {
  const headers = message.properties.headers ?? {}
  const isOwn = message.properties.appId === APP_ID
  const failed = fault?.queue ?? death?.queue ?? withoutEnding(foundIn)
  const channel = isOwn ? ownChannel(headers, death) : undefined
  if (channel !== undefined && CHANNEL_NAME.test(channel)) {
    const queue = failed.replace(/\.suspects$/, '')
    const handler = queue.startsWith(`${channel}.`) ? queue.slice(channel.length + 1) : channel
    return { channel, handler, queue, ...wayOf(queue, death, fault), isOwn }
  }
  return {
    channel: channelName(failed),
    handler: failed,
    queue: failed,
    ...wayOf(failed, death, fault),
    isOwn: false,
  }
}

/** Where nothing else is said, it was published to the exchange of its channel. */
function ownChannel(headers: AmqpHeaders, death: Death | undefined): string | undefined {
  return textOf(headers[OWN.channel]) ?? readExchange(headers) ?? death?.exchange
}

function wayOf(
  queue: string,
  death: Death | undefined,
  fault: Fault | undefined,
): { readonly exchange: string; readonly routingKey: string } {
  if (fault?.exchange !== undefined) return { exchange: fault.exchange, routingKey: fault.routingKey ?? '' }
  if (death !== undefined && death.queue === queue && fault?.queue === undefined)
    return { exchange: death.exchange, routingKey: death.routingKey }
  return { exchange: '', routingKey: queue }
}

const ENDINGS = /(?:[._-](?:dlq|dead-?letters?|error|errors|skipped|parking-?lot|failed))+$/i

function withoutEnding(queue: string): string {
  return queue.replace(ENDINGS, '') || queue
}

/** Queues may be called anything; what a channel cannot be called becomes a dash. Its handler keeps the whole name. */
function channelName(queue: string): string {
  if (queue.length <= MAX_CHANNEL_BYTES && CHANNEL_NAME.test(queue)) return queue
  const name = queue
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/\.{2,}/g, '.')
    .slice(0, MAX_CHANNEL_BYTES)
    .replace(/^[._-]+|[._-]+$/g, '')
  return name === '' ? 'unnamed' : name
}
