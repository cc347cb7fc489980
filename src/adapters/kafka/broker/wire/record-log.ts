import { type AttemptLog, EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { attemptsOf, countOf, logText, parseLog } from '../../../../adapter-kit/wire/carried-log.ts'
import type { Origin } from '../../../../core/dead-letter/letter.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import type { EventRecord } from './event-codec.ts'
import { HeaderTexts, header, OWN, withoutHeaders } from './headers.ts'

interface Wait {
  /** Epoch milliseconds before which it is not delivered; 0 without a wait. */
  readonly notBefore: number
  /** The length of the wait when it began. */
  readonly waitMs: number
}

/** What a message carries that was published again: Kafka cannot change a record in place. */
export interface RecordLog extends Wait {
  readonly log: AttemptLog
  readonly origin: Origin
}

/** The attempts can fill up to this much of a message; our topics accept larger messages than others do. */
const MAX_LOG_BYTES = 200_000

/** The longest wait of a record that does not say how long its wait was, as those of earlier builds. */
const MAX_UNKNOWN_WAIT_MS = 3_600_000

/** The length of a stored wait. */
export function waitOf(stored: unknown): number {
  return stored === undefined ? MAX_UNKNOWN_WAIT_MS : countOf(stored)
}

/** What is left of the wait. It is never longer than at first, so that a clock that is set back delays nothing for long. */
export function waitLeftMs({ notBefore, waitMs }: RecordLog, now: number): number {
  return Math.min(notBefore - now, waitMs)
}

/** The log of a record without attempts. */
export function newLog(broker: string, { topic, partition, offset, timestamp }: KafkaRecord): RecordLog {
  const origin = { broker, topic, partition, offset, timestamp }
  return { log: EMPTY_LOG, origin, notBefore: 0, waitMs: 0 }
}

export function readLog(broker: string, record: KafkaRecord, texts = new HeaderTexts(record)): RecordLog {
  const text = texts.get(OWN.log)
  if (text === undefined) return newLog(broker, record)
  const { topic, partition, offset, timestamp } = record
  const stored = parseLog(text)
  const isCarried = typeof stored['topic'] === 'string'
  const origin = isCarried
    ? {
        broker,
        topic: stored['topic'] as string,
        partition: countOf(stored['partition']),
        offset: countOf(stored['offset']),
        timestamp: countOf(stored['timestamp']),
      }
    : { broker, topic, partition, offset, timestamp }
  return {
    log: attemptsOf(stored),
    origin,
    notBefore: countOf(stored['notBefore']),
    waitMs: waitOf(stored['waitMs']),
  }
}

/** Waits are read as whole numbers. A monotonic clock has fractions. */
export function inWholeMs({ notBefore, waitMs }: Wait): Wait {
  return { notBefore: Math.ceil(notBefore), waitMs: Math.ceil(waitMs) }
}

/** The same message for publishing again. Only its log differs, and it remembers where it came from. */
export function withLog(
  { key, value, headers }: EventRecord,
  { topic, partition, offset, timestamp }: Origin,
  { started, ended, history }: AttemptLog,
  wait: Wait | undefined,
): EventRecord {
  const carried = { topic, partition, offset, timestamp, started, ended, ...(wait && inWholeMs(wait)) }
  const log = header(OWN.log, logText(carried, history, MAX_LOG_BYTES))
  return { key, value, headers: [...withoutHeaders(headers, OWN.log), log] }
}
