import { channelRule } from '../../core/event/channel.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { exactPayloadOf } from '../../core/event/exact-numbers.ts'
import { withoutReplayHeaders } from '../../core/event/replay-headers.ts'
import { type Relations, resolveOptions } from '../../core/options/resolve.ts'
import { custom, optional, text } from '../../core/options/rules.ts'
import type { Broker } from '../../ports/broker.ts'
import type { Sink } from '../../ports/sink.ts'
import { type Consumer, consumerThatUses } from '../consumer/consumer.ts'
import { type ConsumerOptions, consumerRules } from '../consumer/consumer-options.ts'
import type { HandlerContext } from '../consumer/handler-context.ts'
import { rejectedItems } from '../dispatcher/write/sink-answer.ts'
import { port } from '../option-rules.ts'
import { type Closeable, isSame } from '../share.ts'

/** Resolves when the receiver has confirmed the event; throwing is a failure. */
export type RelayFunction = (event: LazaretEvent, context: HandlerContext) => unknown

type Shared = Omit<ConsumerOptions, 'broker' | 'channel' | 'handle' | 'name' | 'schema'>

/** Options of `createRelay()`. */
export interface RelayOptions extends Shared {
  /** Where the events are: an outbox, or any other broker. */
  readonly from: Broker
  /** The channel to take events from. */
  readonly channel: string
  /**
   * Names the relay. Those of one name share the work, in as many processes as there are; each name gets every event.
   * So it has no default: two relays to two places that took one name by accident would get half of the events each.
   */
  readonly name: string
  /** Where they go: a broker, a sink, or a function. */
  readonly to: Broker | Sink | RelayFunction
  /** What the channel is called there [the same]. */
  readonly toChannel?: string | undefined
}

const { broker: _broker, handle: _handle, schema: _schema, ...sharedRules } = consumerRules

const rules = {
  ...sharedRules,
  from: port<Broker>('a broker', 'publish', 'subscribe', 'close'),
  name: text({ maxLength: 200 }),
  to: custom(
    isTarget,
    'give a broker with publish(), a sink with write(), or a function that resolves when the receiver has the event',
  ),
  toChannel: optional(channelRule),
}

const relations: Relations<typeof rules> = ({ from, to, channel, toChannel = channel }, fault) => {
  if (isSame(to, from) && toChannel === channel)
    fault('to', `use another broker or another toChannel, or events return to channel '${channel}'`)
}

function isTarget(value: unknown): value is RelayOptions['to'] {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && (isBroker(value) || isSink(value))
}

function isBroker(target: object): target is Broker {
  return typeof (target as Partial<Broker>).publish === 'function'
}

function isSink(target: object): target is Sink {
  return typeof (target as Partial<Sink>).write === 'function'
}

/**
 * Carries the events of a channel on to another broker, to a sink or to a function. A relay is a consumer whose handler
 * passes events on: an event is done when the receiver has confirmed it, and until then it is retried, held back by the
 * breaker and in the end dead-lettered as with any consumer. Event id, idempotency key, key and payload stay the same.
 *
 * At least once: a relay that dies between the confirmation and the settlement hands over again, with the same id.
 */
export function createRelay(given: RelayOptions): Consumer {
  resolveOptions('relay', rules, given, relations)
  const { from, to, toChannel, channel, name, ...shared } = given
  const handOver = handOverTo(to, name)
  const options: ConsumerOptions = {
    ...shared,
    broker: from,
    channel,
    name,
    handle(event, context) {
      // Another broker gets large numbers as they were sent. Sinks and functions get JSON, as handlers do.
      const payload = isBroker(to) ? exactPayloadOf(event) : event.payload
      return handOver(asFirstSent({ ...event, payload }, toChannel ?? event.channel), context)
    },
  }
  return consumerThatUses(typeof to === 'function' ? [] : [to as Closeable], options, { preset: 'outbox' })
}

/**
 * A replay here is between the relay and its letter. At the receiver it is not a replay: its handlers have not seen the
 * event, and none of them has the name of the replay's handler.
 */
function asFirstSent(event: LazaretEvent, channel: string): LazaretEvent {
  return { ...event, channel, headers: withoutReplayHeaders(event.headers) }
}

function handOverTo(to: RelayOptions['to'], name: string): RelayFunction {
  if (typeof to === 'function') return to
  if (isBroker(to)) return event => to.publish([event])
  return (event, context) => writeTo(to, name, event, context)
}

/** One by one: a batch that fails as a whole would cost every event of it an attempt. */
async function writeTo(
  sink: Sink,
  name: string,
  event: LazaretEvent,
  context: HandlerContext,
): Promise<void> {
  const [refused] = rejectedItems(name, await sink.write([event], context), 1)
  if (refused !== undefined) throw refused.error
}
