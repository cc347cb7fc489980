import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { replayOf } from '../core/event/replay-headers.ts'
import { LazaretError } from '../core/failure/errors.ts'
import type { ReplayRoute } from '../ports/collector.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { Dispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { underHold } from '../runtime/dispatcher/letter-hold.ts'
import { LettersInFlight, lettersInFlight } from '../runtime/dispatcher/letters-in-flight.ts'
import { EVERY_SINK } from '../runtime/dispatcher/track/entry-limit.ts'
import type { ReplayTarget } from './target.ts'

/** Sends a letter's event again to the sink that gave up on it, and records the outcome in the letter. */
interface Resender {
  resend(letter: DeadLetter): Promise<unknown>
  /** Whether this process has the sink or function. */
  has(handler: string): boolean
}

/**
 * The replay target for letters of a dispatcher, for the option `replayTarget` of a server. It sends each letter only to
 * the sink that failed, and bypasses the rate limit of new events.
 */
export function sinkReplays(
  dispatcher: Pick<Dispatcher, 'resend' | 'health'>,
  letters: Pick<DeadLetterStore, 'get'>,
): ReplayTarget {
  const target = resendTarget(
    {
      resend: letter => dispatcher.resend(letter),
      has: handler => handler === EVERY_SINK || Object.hasOwn(dispatcher.health().sinks, handler),
    },
    letters,
    lettersInFlight(dispatcher),
  )
  return {
    ...target,
    routeOf(letter) {
      const { broker } = letter.origin
      // A handler of a channel may have the same name as a sink.
      if (broker === undefined) return target.routeOf(letter)
      return { kind: 'none', reason: `it came from broker '${broker}'; this target sends to sinks only` }
    },
  }
}

/**
 * `send` does not wait for the outcome. The letter stays `replaying` until it is resolved or fails again. If the process
 * crashes in between, the next runner sends it again. A sink begins to write a letter only while the hold says that the letter
 * is still this runner's.
 */
export function resendTarget(
  resender: Resender,
  letters: Pick<DeadLetterStore, 'get'>,
  underWay = new LettersInFlight(),
): ReplayTarget & { routeOf(letter: Pick<DeadLetter, 'handler'>): ReplayRoute } {
  return {
    routeOf: ({ handler }) =>
      resender.has(handler)
        ? { kind: 'in-process', via: 'this process' }
        : { kind: 'none', reason: noSinkText(handler) },
    async send(events, _origin, hold) {
      for (const event of events) {
        const id = replayOf(event)?.letterId ?? ''
        const letter = await letters.get(id)
        if (letter === undefined) continue
        if (!resender.has(letter.handler)) throw new NoSinkError(letter)
        const sent = { ...letter, event }
        const resend = () => resender.resend(hold === undefined ? sent : underHold(sent, hold))
        void underWay.send(id, hold, resend)?.catch(() => {})
      }
    },
  }
}

/** Without this, the letter would stay `replaying`. */
class NoSinkError extends LazaretError {
  override readonly name = 'NoSinkError'

  constructor({ id, handler }: DeadLetter) {
    super(`letter ${id}: ${noSinkText(handler)}`, { code: 'LAZARET_BROKER_UNROUTABLE', retryable: false })
  }
}

function noSinkText(handler: string): string {
  return `this process has no sink or function '${handler}'; replay it in a process that has one, or discard it`
}
