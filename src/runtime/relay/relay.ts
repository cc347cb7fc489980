import type { LazaretEvent } from '../../core/event/event.ts'
import { withoutReplayHeaders } from '../../core/event/replay-headers.ts'
import { RETRY_PRESETS } from '../../core/retry/presets.ts'
import type { Sink } from '../../ports/sink.ts'
import { type Consumer, consumerThatUses } from '../consumer/consumer.ts'
import type { HandlerContext } from '../consumer/handler-context.ts'
import { rejectedItems } from '../dispatcher/write/sink-answer.ts'
import type { Closeable } from '../share.ts'
import { type HandOver, isBroker, type RelayOptions, resolveRelay } from './relay-options.ts'

/**
 * Carries the events of a channel on to another broker, to a sink or to a function. A relay is a consumer whose handler
 * hands over: an event is done when the far side has confirmed it, and until then it is retried, held back by the
 * breaker and in the end dead-lettered as with any consumer. Event id, idempotency key, key and payload stay the same.
 *
 * At least once: a relay that dies between the confirmation and the settlement hands over again, with the same id.
 */
export function createRelay(options: RelayOptions): Consumer {
  const { from, to, toChannel, name, channel } = resolveRelay(options)
  const { from: _from, to: _to, toChannel: _toChannel, ...shared } = options
  const handOver = handOverTo(to, name)
  return consumerThatUses(typeof to === 'function' ? [] : [to as Closeable], {
    ...shared,
    retry: { ...RETRY_PRESETS.outbox, ...options.retry },
    broker: from,
    channel,
    name,
    handle: (event, context) => handOver(asFirstSent(event, toChannel ?? event.channel), context),
  })
}

/**
 * A replay here is between the relay and its letter. Over there it is none: their handlers have not seen the event, and
 * would take the name of the handler that it is for to be somebody else's.
 */
function asFirstSent(event: LazaretEvent, channel: string): LazaretEvent {
  return { ...event, channel, headers: withoutReplayHeaders(event.headers) }
}

function handOverTo(to: RelayOptions['to'], name: string): HandOver {
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
