import type { Origin } from '../../core/dead-letter/letter.ts'
import { isPlainObject } from '../../core/event/plain.ts'
import { unusable } from '../../core/options/unusable.ts'
import { isPromiseLike } from '../attempt/attempt.ts'
import type { UserFaults } from '../user-functions/user-faults.ts'

/** What of another client's message becomes an event. What is left out is made up. */
export interface MessageFacts {
  /** Say it if there is one: without an id, a message that comes again is a new letter. */
  readonly id?: string | undefined
  readonly type?: string | undefined
  readonly key?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Default: the first argument. */
  readonly payload?: unknown
  readonly occurredAt?: number | undefined
  readonly origin?: Origin | undefined
  /** How often the client has delivered it before, if it tells. Above 0 the client retries too. */
  readonly redelivered?: number | undefined
}

const NOTHING: MessageFacts = Object.freeze({})

/**
 * Asks what a message is. Whatever cannot be used of the answer counts as left out, and so does all of it when the
 * function throws: the message is handled all the same.
 */
export function factsOf<A extends unknown[]>(
  describe: (...args: A) => MessageFacts,
  args: A,
  faults: UserFaults,
): MessageFacts {
  try {
    const facts: unknown = describe(...args)
    if (typeof facts !== 'object' || facts === null || isPromiseLike(facts))
      throw unusable('describe', facts, 'return an object such as { id, type, payload }')
    const wrong = Object.entries(CHECKS)
      .filter(([name, isRight]) => !isRight((facts as MessageFacts)[name as keyof MessageFacts]))
      .map(([name]) => name)
    if (wrong.length === 0) return facts
    faults.report('describe', new TypeError(`describe returned an unusable ${wrong.join(', ')}`))
    return Object.fromEntries(Object.entries(facts).filter(([name]) => !wrong.includes(name)))
  } catch (error) {
    faults.report('describe', error)
    return NOTHING
  }
}

function isText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value !== '')
}

function isWhole(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)
}

function isRecord(value: unknown): boolean {
  return value === undefined || isPlainObject(value)
}

/** The payload may be anything. */
const CHECKS: Readonly<Record<Exclude<keyof MessageFacts, 'payload'>, (value: unknown) => boolean>> = {
  id: isText,
  type: isText,
  key: isText,
  idempotencyKey: isText,
  headers: isRecord,
  occurredAt: isWhole,
  origin: isRecord,
  redelivered: isWhole,
}
