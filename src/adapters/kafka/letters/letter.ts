import type { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import { type CollectedLetter, foreignLetter } from '../../../adapter-kit/collecting/foreign-letter.ts'
import { channelName, withoutEnding } from '../../../adapter-kit/collecting/names.ts'
import { headerReader } from '../../../adapter-kit/collecting/record-headers.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { KafkaRecord } from '../connection/records.ts'
import { type Fault, isFaultHeader, readFault } from './faults.ts'
import { readLetter } from './own-letter.ts'

/** A record as it was read from a dead-letter topic. */
export type DeadRecord = Omit<KafkaRecord, 'bytes'>

interface CollectionContext {
  /** The collector's name. */
  readonly broker: string
  /** Original topics by dead-letter topic, where the records do not say it. */
  readonly originalTopics: Readonly<Record<string, string>>
  readonly now: number
  readonly failures: FailureCache
}

const KIND = 'kafka'

/**
 * The letter for a record in a dead-letter topic, no matter which program wrote it. Every reading of the record gives the
 * same letter, because topic, partition, offset and time of the record identify it.
 */
export function collect(record: DeadRecord, context: CollectionContext): CollectedLetter {
  const own = ownLetter(record)
  if (own === undefined) return letterOfOther(record, context)
  const origin = { ...own.origin, broker: context.broker, collectedFrom: record.topic }
  return { letter: { ...own, origin }, isTimeKnown: true }
}

/** A record that claims to be a letter of Lazaret and cannot be read counts as an ordinary record. */
function ownLetter(record: DeadRecord): DeadLetter | undefined {
  try {
    return readLetter(record)
  } catch {
    return undefined
  }
}

function letterOfOther(record: DeadRecord, context: CollectionContext): CollectedLetter {
  const { key, value, headers, partition, offset, timestamp } = record
  const fault = readFault(headerReader(headers))
  const source = sourceOf(record, fault, context.originalTopics)
  return foreignLetter(
    {
      key,
      value,
      headers,
      // Offsets begin again when a topic is deleted and created. The time distinguishes such records.
      place: `${record.topic}/${partition}/${offset}@${timestamp}`,
      writtenAt: timestamp,
      channel: source.channel,
      handler: source.handler,
      type: source.topic ?? record.topic,
      typeHeaders: ['ce_type', 'message-type', '__TypeId__'],
      idHeader: 'ce_id',
      isFaultHeader: name => isFaultHeader(name, fault?.writtenBy),
      fault,
      origin: {
        broker: context.broker,
        brokerKind: KIND,
        ...(source.topic === undefined ? undefined : { topic: source.topic }),
        ...(fault?.partition === undefined ? undefined : { partition: fault.partition }),
        ...(fault?.offset === undefined ? undefined : { offset: fault.offset }),
        collectedFrom: record.topic,
        collectedPartition: partition,
        collectedOffset: String(offset),
      },
    },
    { kind: KIND, ...context },
  )
}

interface RecordSource {
  /** The topic that the record returns to; undefined if nobody says it. */
  readonly topic: string | undefined
  readonly channel: string
  readonly handler: string
}

/** The topic and the consumer that failed: from the headers, the options, or the name of the dead-letter topic. */
function sourceOf(
  { topic: foundIn }: DeadRecord,
  fault: Fault | undefined,
  originalTopics: CollectionContext['originalTopics'],
): RecordSource {
  const given = Object.hasOwn(originalTopics, foundIn) ? originalTopics[foundIn] : undefined
  const told = given ?? fault?.topic
  const byName = withoutEnding(foundIn)
  const topic = told ?? (byName === foundIn ? undefined : byName)
  const named = topic ?? foundIn
  return { topic, channel: channelName(named), handler: fault?.handler || named }
}
