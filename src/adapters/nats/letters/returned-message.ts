import { headerBytes, unkeptReason, valueBytes } from '../../../adapter-kit/collecting/record-forms.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import { eventSubject, namesOf } from '../broker/streams/names.ts'
import { encodeEvent } from '../broker/wire/event-codec.ts'
import type { OutgoingMessage } from '../connection/publisher.ts'

const LINE_BREAKS = /[\r\n]+/g

/** The message of an event that returns to its original subject, or, redirected, goes to the subject of its channel. */
export function returnedMessage(event: LazaretEvent, origin: Origin): Omit<OutgoingMessage, 'stream'> {
  const handler = replayOf(event)?.handler
  const { channel, type } = event
  if (origin['writtenBy'] === undefined) {
    const subject =
      handler === undefined ? eventSubject(channel, type) : namesOf(channel, handler).retrySubject
    return { subject, ...encodeEvent(event) }
  }
  const isRedirected = handler === undefined
  const subject = isRedirected ? undefined : origin['subject']
  return {
    subject: typeof subject === 'string' ? subject : eventSubject(channel, type),
    data: valueBytes(event.payload, origin) ?? new Uint8Array(),
    headers: headerBytes(event.headers, origin).map(([name, value]) => [
      name.toString('utf8'),
      // A header of NATS is one line.
      (value ?? '').toString('utf8').replaceAll(LINE_BREAKS, ' '),
    ]),
  }
}

/** Why a letter cannot go back to its origin; undefined when it can. Lazaret's own letters return to their handler. */
export function faultOfReturn({ origin }: Pick<DeadLetter, 'origin'>): string | undefined {
  if (origin['subject'] !== undefined || origin['writtenBy'] === undefined) return unkeptReason(origin)
  const from = origin['collectedFrom']
  return `nothing says which subject the messages of ${from} came from; name it in originalSubjects of the collector, or redirect the letter to a channel`
}
