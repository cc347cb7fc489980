import type { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import {
  type CollectedLetter,
  type ForeignFault,
  type ForeignMessage,
  foreignLetter,
} from '../../../adapter-kit/collecting/foreign-letter.ts'
import { channelName, withoutEnding } from '../../../adapter-kit/collecting/names.ts'
import type { RecordHeader } from '../../../adapter-kit/collecting/record-headers.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import { isOfServer } from '../broker/wire/headers.ts'
import { type HeaderList, headerText } from '../connection/headers.ts'
import type { StoredMessage } from '../connection/jetstream.ts'
import type { Advisory } from './advisories.ts'
import { readLetter } from './own-letter.ts'

interface CollectionContext {
  /** The collector's name. */
  readonly broker: string
  /** Subjects by dead-letter stream, where the messages do not say it. */
  readonly originalSubjects: Readonly<Record<string, string>>
  readonly now: number
  readonly failures: FailureCache
}

const KIND = 'nats'

/** What Watermill's poison queue writes on a message. */
const WATERMILL = {
  reason: 'reason_poisoned',
  topic: 'topic_poisoned',
  handler: 'handler_poisoned',
  subscriber: 'subscriber_poisoned',
} as const
const FAULT_HEADERS: ReadonlySet<string> = new Set(Object.values(WATERMILL))

/** The letter for a message in a dead-letter stream, no matter which program wrote it. */
export function collect(stream: string, message: StoredMessage, context: CollectionContext): CollectedLetter {
  const own = ownLetter(message)
  if (own !== undefined) {
    const origin = { ...own.origin, broker: context.broker, collectedFrom: stream }
    return { letter: { ...own, origin }, isTimeKnown: true }
  }
  const { originalSubjects } = context
  const given = Object.hasOwn(originalSubjects, stream) ? originalSubjects[stream] : undefined
  const subject = given ?? headerText(message.headers, WATERMILL.topic)
  const named = subject ?? withoutEnding(stream)
  return foreignLetter(
    {
      ...partsOf(stream, message),
      channel: channelName(named),
      handler: headerText(message.headers, WATERMILL.handler) || named,
      type: subject ?? message.subject,
      fault: poisonOf(message.headers),
      origin: originOf(context, subject, { collectedFrom: stream, collectedOffset: message.sequence }),
    },
    { kind: KIND, ...context },
  )
}

/** The letter for a message that was delivered as often as its consumer allows. The stream may have removed the message. */
export function collectUndelivered(
  { stream, consumer, sequence, deliveries, at }: Advisory,
  message: StoredMessage | undefined,
  collectedFrom: string,
  context: CollectionContext,
): CollectedLetter {
  const found = message ?? { subject: stream, sequence, headers: [], data: new Uint8Array(), storedAt: at }
  const place = { stream, offset: sequence, collectedFrom }
  const lost = { unkept: 'the stream had removed the message before it was collected; send it manually' }
  return foreignLetter(
    {
      ...partsOf(stream, found),
      channel: channelName(stream),
      handler: consumer,
      type: found.subject,
      fault: {
        writtenBy: 'server',
        error: 'MaxDeliverExceeded',
        message: `consumer '${consumer}' of stream '${stream}' did not acknowledge the message`,
        at,
        attempts: deliveries,
      },
      origin: {
        ...originOf(context, message?.subject, place),
        ...(message === undefined ? lost : undefined),
      },
    },
    { kind: KIND, ...context },
  )
}

/** A message that claims to be a letter of Lazaret and cannot be read counts as an ordinary message. */
function ownLetter(message: StoredMessage): DeadLetter | undefined {
  try {
    return readLetter(message)
  } catch {
    return undefined
  }
}

function partsOf(
  stream: string,
  { headers, data, sequence, storedAt }: StoredMessage,
): Omit<ForeignMessage, 'channel' | 'handler' | 'type' | 'fault' | 'origin'> {
  return {
    key: null,
    value: Buffer.from(data),
    headers: headers.map(([name, value]): RecordHeader => [Buffer.from(name), Buffer.from(value)]),
    place: `${stream}/${sequence}@${storedAt}`,
    writtenAt: storedAt,
    typeHeaders: ['ce-type', 'Ce-Type'],
    idHeader: 'ce-id',
    isFaultHeader: name => FAULT_HEADERS.has(name) || isOfServer(name),
  }
}

function poisonOf(headers: HeaderList): ForeignFault | undefined {
  const message = headerText(headers, WATERMILL.reason)
  return message === undefined ? undefined : { writtenBy: 'watermill', error: 'Error', message, attempts: 1 }
}

function originOf({ broker }: CollectionContext, subject: string | undefined, place: Origin): Origin {
  return { broker, brokerKind: KIND, ...(subject === undefined ? undefined : { subject }), ...place }
}
