import {
  headerBytes,
  keyBytes,
  unkeptReason,
  valueBytes,
} from '../../../adapter-kit/collecting/record-forms.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import { channelTopic, handlerTopics } from '../broker/topics/names.ts'
import { encodeEvent } from '../broker/wire/event-codec.ts'
import type { OutgoingRecord } from '../connection/partition-queue.ts'
import type { KafkaSettings } from '../options.ts'

/**
 * The record of an event that returns to its original topic, or, redirected, goes to the topic of its channel. Its time is
 * that of the sending: a record with its original time could be past the retention of the topic, and would be deleted
 * before anyone reads it.
 */
export function returnedRecord(event: LazaretEvent, origin: Origin, names: KafkaSettings): OutgoingRecord {
  const handler = replayOf(event)?.handler
  const isOwn = origin['writtenBy'] === undefined
  if (isOwn) {
    const { channel } = event
    const topic =
      handler === undefined ? channelTopic(names, channel) : handlerTopics(names, channel, handler).again
    return { topic, ...encodeEvent(event, topic) }
  }
  const isRedirected = handler === undefined
  return {
    topic: isRedirected ? event.channel : (origin.topic ?? event.channel),
    partition: isRedirected ? undefined : origin.partition,
    key: keyBytes(event.key, origin),
    value: valueBytes(event.payload, origin),
    headers: headerBytes(event.headers, origin),
  }
}

/** Why a letter cannot go back to its origin; undefined when it can. Lazaret's own letters return to their handler. */
export function faultOfReturn({ origin }: Pick<DeadLetter, 'origin'>): string | undefined {
  if (origin.topic !== undefined || origin['writtenBy'] === undefined) return unkeptReason(origin)
  const from = origin['collectedFrom']
  return `nothing says which topic the records of ${from} came from; name it in originalTopics of the collector, or redirect the letter to a channel`
}
