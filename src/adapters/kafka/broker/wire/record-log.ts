import { decodeAttempts, isAttempt } from '../../../../adapter-kit/delivery/attempt-history.ts'
import { type AttemptLog, EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { keepFirstAndLatest } from '../../../../core/dead-letter/caps.ts'
import type { AttemptRecord, Origin } from '../../../../core/dead-letter/letter.ts'
import { isPlainObject } from '../../../../core/event/plain.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import type { EventRecord } from './event-codec.ts'
import { countOf, HeaderTexts, header, OWN, withoutHeaders } from './headers.ts'

/** What a message carries that was published again: Kafka cannot change a record in place. */
export interface RecordLog {
  readonly log: AttemptLog
  readonly origin: Origin
  /** Epoch milliseconds before which it is not delivered; 0 without a wait. */
  readonly notBefore: number
}

type StoredLog = Readonly<Record<string, unknown>>

/** The attempts can fill up to this much of a message; our topics accept larger messages than others do. */
const MAX_LOG_BYTES = 200_000

function parse(text: string): StoredLog {
  try {
    const stored: unknown = JSON.parse(text)
    return isPlainObject(stored) ? stored : {}
  } catch {
    return {}
  }
}

/** `now` limits the wait to its original length, so that a clock that is set back delays nothing for long. */
export function readLog(
  broker: string,
  record: KafkaRecord,
  now: number,
  texts = new HeaderTexts(record),
): RecordLog {
  const text = texts.get(OWN.log)
  const { topic, partition, offset, timestamp } = record
  if (text === undefined)
    return { log: EMPTY_LOG, origin: { broker, topic, partition, offset, timestamp }, notBefore: 0 }
  const stored = parse(text)
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
    notBefore: Math.min(countOf(stored['notBefore']), now + countOf(stored['waitMs'])),
  }
}

function attemptsOf(stored: StoredLog): AttemptLog {
  const started = countOf(stored['started'])
  if (started === 0) return EMPTY_LOG
  const ended = Math.min(started, countOf(stored['ended']))
  const history = stored['history']
  const attempts = ended > 0 && Array.isArray(history) ? history.filter(isAttempt) : []
  return { started, ended, history: decodeAttempts(attempts, undefined) }
}

/** The same message for publishing again. Only its log differs, and it remembers where it came from. */
export function withLog(
  { key, value, headers }: EventRecord,
  { topic, partition, offset, timestamp }: Origin,
  { started, ended, history }: AttemptLog,
  wait: { readonly notBefore: number; readonly waitMs: number } | undefined,
): EventRecord {
  const carried = { topic, partition, offset, timestamp, started, ended, ...wait }
  const log = header(OWN.log, fittingText(carried, history))
  return { key, value, headers: [...withoutHeaders(headers, OWN.log), log] }
}

/** Counts are never given up; of the attempts themselves as many are kept as there is room for. */
function fittingText(carried: object, history: readonly AttemptRecord[]): string {
  if (history.length === 0) return JSON.stringify(carried)
  const text = JSON.stringify({ ...carried, history })
  if (Buffer.byteLength(text) < MAX_LOG_BYTES) return text
  return fittingText(
    carried,
    history.length === 1 ? [] : keepFirstAndLatest(history, Math.max(1, history.length >> 1)),
  )
}
