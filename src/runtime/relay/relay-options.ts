import type { LazaretEvent } from '../../core/event/event.ts'
import { type Relations, resolveOptions } from '../../core/options/resolve.ts'
import { optional, text, that } from '../../core/options/rules.ts'
import type { Broker } from '../../ports/broker.ts'
import type { Sink } from '../../ports/sink.ts'
import type { ConsumerOptions } from '../consumer/consumer-options.ts'
import type { HandlerContext } from '../consumer/handler-context.ts'
import { port } from '../option-rules.ts'
import { isSame } from '../share.ts'

/** Resolves when the far side has confirmed the event; throwing is a failure. */
export type HandOver = (event: LazaretEvent, context: HandlerContext) => unknown

type Shared = Omit<ConsumerOptions, 'broker' | 'channel' | 'handle' | 'name' | 'schema'>

export interface RelayOptions extends Shared {
  /** Where the events are: an outbox, or any other broker. */
  readonly from: Broker
  readonly channel: string
  /**
   * Names the relay. Those of one name share the work, in as many processes as there are; each name gets every event.
   * So it has no default: two relays to two places that took one name by accident would get half of the events each.
   */
  readonly name: string
  /** Where they go: a broker, a sink, or a function. */
  readonly to: Broker | Sink | HandOver
  /** What the channel is called there [the same]. */
  readonly toChannel?: string | undefined
}

const rules = {
  from: port<Broker>('a broker', 'publish', 'subscribe', 'close'),
  channel: text({ maxLength: 120 }),
  name: text({ maxLength: 200 }),
  to: that(
    isTarget,
    'give a broker with publish(), a sink with write(), or a function that resolves when the far side has the event',
  ),
  toChannel: optional(text({ maxLength: 120 })),
}

const relations: Relations<typeof rules> = ({ from, to, channel, toChannel = channel }, fault) => {
  if (isSame(to, from) && toChannel === channel)
    fault('to', `give another broker, or another toChannel: events would come back to channel '${channel}'`)
}

/** What of it is the relay's own, checked. The rest is the consumer's to check. */
export function resolveRelay({ from, channel, name, to, toChannel }: RelayOptions) {
  return resolveOptions('relay', rules, { from, channel, name, to, toChannel }, relations)
}

function isTarget(value: unknown): value is RelayOptions['to'] {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && (isBroker(value) || isSink(value))
}

export function isBroker(target: object): target is Broker {
  return typeof (target as Partial<Broker>).publish === 'function'
}

function isSink(target: object): target is Sink {
  return typeof (target as Partial<Sink>).write === 'function'
}
