import { createLetter } from '../../../core/dead-letter/create.ts'
import { letterId } from '../../../core/dead-letter/identity.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { type EventReplay, replayOf } from '../../../core/event/replay-headers.ts'
import { readLetter } from '../broker/wire/letter.ts'
import { readLog } from '../broker/wire/message-log.ts'
import type { AmqpHeaders, AmqpMessage } from '../connection/amqp.ts'
import { type Death, readDeaths } from './deaths.ts'
import { collectedEvent } from './event.ts'
import type { Failures } from './failures.ts'
import { type Fault, readFault } from './faults.ts'
import { keptProperties } from './kept.ts'
import { type CollectedHeaders, collectedHeaders } from './kept-headers.ts'
import { placeOf } from './place.ts'

/** Where a message was found. */
interface Finding {
  /** The collector's name. */
  readonly broker: string
  readonly queue: string
  readonly now: number
  readonly failures: Failures
}

export interface Collected {
  readonly letter: DeadLetter
  /** False: nothing tells when it failed, so its time is when it was found. */
  readonly isTimeKnown: boolean
}

/** The letter that a message in a dead-letter queue stands for, whoever put it there. Never throws. */
export function collect(message: AmqpMessage, finding: Finding): Collected {
  const own = ownLetter(message)
  if (own === undefined) return foreignLetter(message, finding)
  const origin = { ...own.origin, broker: finding.broker, collectedFrom: finding.queue }
  return { letter: { ...own, origin }, isTimeKnown: true }
}

/** What claims to be ours and cannot be read is taken for what it is: a message. */
function ownLetter(message: AmqpMessage): DeadLetter | undefined {
  try {
    return readLetter(message)
  } catch {
    return undefined
  }
}

function foreignLetter(message: AmqpMessage, { broker, queue, now, failures }: Finding): Collected {
  const headers = message.properties.headers ?? {}
  const deaths = readDeaths(headers)
  const fault = readFault(headers)
  const place = placeOf(message, queue, deaths, fault)
  const times = [...deaths.map(({ at }) => at), fault?.at].filter(at => at !== undefined)
  const collected = collectedHeaders(message.properties)
  const event = collectedEvent(message, place, deaths, times[0] ?? now, collected.texts)
  const handler = place.handler
  const replay = replayOfLetter(event, () => letterId(event.channel, handler, event))
  const letter = createLetter({
    event,
    handler,
    reason: deaths[0]?.reason === 'expired' && fault === undefined ? 'expired' : 'collected',
    at: times.length === 0 ? now : Math.max(...times),
    failure: failures.of(deaths[0], fault),
    attempts: readLog(headers).history,
    attemptCount: attemptsOf(headers, deaths, fault),
    origin: {
      broker,
      queue: place.queue,
      exchange: place.exchange,
      routingKey: place.routingKey,
      collectedFrom: queue,
      ...(place.isOwn
        ? undefined
        : {
            writtenBy: fault?.writtenBy ?? 'other',
            ...keptProperties(message.properties),
            ...headerOrigin(collected, event),
          }),
    },
    replay: replay?.attempt,
    replayId: replay?.replayId,
    // Whoever can publish can write the headers: the saver asks the letter.
    isUnverified: replay !== undefined,
    detail:
      deaths.length === 0 ? undefined : { deaths: deaths.map(death => ({ ...death, at: death.at ?? null })) },
  })
  const firstFailedAt = Math.min(letter.cycle.firstFailedAt, ...times)
  return {
    letter: { ...letter, cycle: { ...letter.cycle, firstFailedAt } },
    isTimeKnown: times.length > 0,
  }
}

/** What could not be made an event of was kept without its headers. */
function headerOrigin({ origin, texts }: CollectedHeaders, event: LazaretEvent): Origin {
  const areLost = Object.keys(texts).length > 0 && Object.keys(event.headers).length === 0
  return areLost ? { unkeptHeaders: 'its headers are not those of an event; send it again by hand' } : origin
}

/** Which replay of the letter this was. A replay that another queue got as well is none of that queue's letter. */
function replayOfLetter(event: LazaretEvent, idOfThis: () => string): EventReplay | undefined {
  const replay = replayOf(event)
  return replay?.letterId !== undefined && replay.letterId === idOfThis() ? replay : undefined
}

function attemptsOf(headers: AmqpHeaders, deaths: readonly Death[], fault: Fault | undefined): number {
  const rejections = deaths.filter(({ reason, queue }) => reason === 'rejected' && queue === deaths[0]?.queue)
  const rejected = rejections.reduce((sum, { count }) => sum + count, 0)
  return Math.max(rejected, fault?.attempts ?? 0, readLog(headers).started)
}
