import { type AttemptLog, EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { attemptsOf, countOf, logText, parseLog } from '../../../../adapter-kit/wire/carried-log.ts'
import type { Origin } from '../../../../core/dead-letter/letter.ts'
import { type HeaderList, headerText } from '../../connection/headers.ts'
import { asciiJson, keptHeaders, OWN } from './headers.ts'
import type { EventMessage } from './message.ts'

/** What a message carries that was published again: a stream cannot change a message in place. */
export interface MessageLog {
  readonly log: AttemptLog
  readonly origin: Origin
  /** Epoch milliseconds before which it is not delivered; 0 without a wait. */
  readonly notBefore: number
  /** It had to wait when it was published, so that its first delivery is not yet the one to the handler. */
  readonly hasWaited: boolean
  /** Its first attempt alone began, after one beside others that ended in a crash. If it crashes again, it caused both. */
  readonly isFirstSuspicion: boolean
}

/** What is said about a message beside its attempts. */
export interface LogMark {
  readonly notBefore?: number
  readonly waitMs?: number
  readonly isFirstSuspicion?: boolean
}

/** The attempts can fill up to this much of a message. */
const MAX_LOG_BYTES = 100_000

/** Where a message stands, for one that was never published again. */
interface MessagePosition {
  readonly stream: string
  readonly sequence: number
  readonly storedAt: number
}

/** The log of a message without attempts. */
function newLog(
  broker: string,
  { subject }: EventMessage,
  { stream, sequence, storedAt }: MessagePosition,
): MessageLog {
  const origin = { broker, stream, subject, offset: sequence, timestamp: storedAt }
  return { log: EMPTY_LOG, origin, notBefore: 0, hasWaited: false, isFirstSuspicion: false }
}

/** `now` limits the wait to its original length, so that a clock that is set back delays nothing for long. */
export function readLog(
  broker: string,
  message: EventMessage,
  position: MessagePosition,
  now: number,
): MessageLog {
  const text = headerText(message.headers, OWN.log)
  const own = newLog(broker, message, position)
  if (text === undefined) return own
  const stored = parseLog(text)
  const origin: Origin =
    typeof stored['stream'] === 'string'
      ? {
          broker,
          stream: stored['stream'],
          subject: String(stored['subject']),
          offset: countOf(stored['offset']),
          timestamp: countOf(stored['timestamp']),
        }
      : own.origin
  const waitMs = countOf(stored['waitMs'])
  return {
    log: attemptsOf(stored),
    origin,
    notBefore: Math.min(countOf(stored['notBefore']), now + waitMs),
    hasWaited: waitMs > 0,
    isFirstSuspicion: stored['isFirstSuspicion'] === true,
  }
}

/** What a message of this stream carries. One of the channel can be from anybody, so that nothing it says of attempts counts. */
export function logIn(
  source: 'events' | 'retries',
  broker: string,
  message: EventMessage,
  position: MessagePosition,
  now: number,
): MessageLog {
  return source === 'events' ? newLog(broker, message, position) : readLog(broker, message, position, now)
}

/** The attempts of a message whose consumer crashed after it had noted them. */
export function afterCrash({ log, isFirstSuspicion }: MessageLog): AttemptLog {
  return isFirstSuspicion ? { ...log, started: log.started + 1 } : log
}

/** The headers of the same message for publishing again. Only its log differs, and it remembers where it came from. */
export function headersWithLog(
  headers: HeaderList,
  origin: Origin,
  { started, ended, history }: AttemptLog,
  mark?: LogMark,
): HeaderList {
  const { stream, subject, offset, timestamp } = origin
  const carried = { stream, subject, offset, timestamp, started, ended, ...mark }
  return [...keptHeaders(headers), [OWN.log, logText(carried, history, MAX_LOG_BYTES, asciiJson)]]
}
