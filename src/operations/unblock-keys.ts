import { withAudit } from '../adapter-kit/with-audit.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { withoutCredentials } from '../core/options/show.ts'
import type { Broker } from '../ports/broker.ts'
import { type Clock, settlesWithin, systemClock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { type Decision, entryOf } from './decision.ts'
import { isFrom, isUnroutable, noRoute } from './origin-broker.ts'

/** The part of a broker that unblocks keys. */
export type KeyBroker = Pick<Broker, 'name' | 'kind' | 'unblockKey'>

/** A discarded letter whose key is still blocked. */
interface BlockedKey {
  readonly letterId: string
  /** False if the letter does not say whether its consumer keeps keys in order. Perhaps nothing waits for it. */
  readonly isCertain: boolean
  readonly reason: string
}

interface KeyUnblockerOptions {
  /** The brokers beside that of the store [none]. Called for the first letter of another broker. */
  readonly brokers?: (() => readonly KeyBroker[] | Promise<readonly KeyBroker[]>) | undefined
  readonly clock?: Clock | undefined
}

/** A broker that does not answer within this time counts as unreachable. */
const TIMEOUT_MS = 10_000

/**
 * Unblocks the keys of the letters of one store for one command or request. Each letter has its key unblocked in the broker
 * that it came from: the broker of the store, or one of the others.
 */
export class KeyUnblocker {
  /** The discarded letters whose keys are still blocked. */
  readonly blocked: BlockedKey[] = []
  readonly #store: Pick<Store, 'audit' | 'broker'>
  readonly #others: NonNullable<KeyUnblockerOptions['brokers']>
  readonly #clock: Clock
  /** The channels of brokers that did not answer: each further letter would wait as long again. */
  readonly #silent = new Set<string>()

  constructor(
    store: Pick<Store, 'audit' | 'broker'>,
    { brokers = () => [], clock = systemClock }: KeyUnblockerOptions = {},
  ) {
    this.#store = store
    this.#others = brokers
    this.#clock = clock
  }

  /** Lets the events that wait for the letter continue. The letter stays as it is. Rejects if they may still wait. */
  async unblock(letter: DeadLetter, decision: Decision): Promise<void> {
    const { id, origin } = letter
    const own = this.#store.broker
    const brokers = [...(own === undefined ? [] : [own]), ...(await this.#others())]
    const broker = brokers.find(each => isFrom(origin, each))
    // A collector cannot unblock a key.
    if (broker === undefined) throw new Error(noRoute({ ...origin, collectedFrom: undefined }).reason)
    const ask = () => this.#ask(broker, letter)
    await withAudit(this.#store.audit, entryOf('letter.unblock', id, decision), ask)
  }

  /**
   * Unblocks the key of a letter that was just discarded. The letter is discarded in any case: a key that stays blocked is
   * added to `blocked`. The discard has an audit entry, so the broker of the store needs no other one.
   */
  async afterDiscard(letter: DeadLetter, decision: Decision): Promise<void> {
    const { id, event, origin, ordering } = letter
    const own = this.#store.broker
    try {
      if (own !== undefined && (origin.broker === undefined || isFrom(origin, own)))
        await this.#ask(own, letter)
      else if (mayBlock(letter)) await this.unblock(letter, decision)
    } catch (error) {
      // If it is unroutable, nobody is there to be told: no consumer keeps the order.
      if (!mayBlock(letter) || isUnroutable(error)) return
      const isCertain = ordering === 'by-key' && event.key !== undefined
      this.blocked.push({ letterId: id, isCertain, reason: withoutCredentials((error as Error).message) })
    }
  }

  async #ask(broker: KeyBroker, { channel, event, handler }: DeadLetter): Promise<true> {
    const place = `${broker.name} ${channel}`
    const silence = `broker '${broker.name}' did not answer within ${TIMEOUT_MS / 1_000} s; make it reachable`
    if (this.#silent.has(place)) throw new Error(silence)
    const asking = broker.unblockKey(channel, event.id, handler)
    if (!(await settlesWithin(this.#clock, TIMEOUT_MS, asking))) {
      this.#silent.add(place)
      throw new Error(silence)
    }
    try {
      await asking
      return true
    } catch (error) {
      if (isUnroutable(error)) throw error
      const { message } = error as Error
      throw new Error(`broker '${broker.name}' failed (${message}); make it reachable`, { cause: error })
    }
  }

  /** What a discard left undone, for the audit log: of one letter, or of all. */
  shortfall(id?: string): { readonly stillBlocked: number } | undefined {
    const left = this.blocked.filter(each => each.isCertain && (id === undefined || each.letterId === id))
    return left.length === 0 ? undefined : { stillBlocked: left.length }
  }

  /** Says which keys are still blocked, why, and what to do. `maxIds` limits the ids in one text. */
  problems(maxIds: number): readonly string[] {
    const groups = Map.groupBy(this.blocked, ({ isCertain, reason }) => `${isCertain} ${reason}`)
    return [...groups.values()].map(group => problemOf(group, maxIds))
  }
}

/**
 * Whether the letter can block later events. A consumer that keeps a whole partition in order says `by-key` too, so that an event
 * without a key can block others. A letter that a collector found and that does not know its ordering is one of another program,
 * which has no keys of Lazaret.
 */
function mayBlock({ event, origin, ordering }: DeadLetter): boolean {
  if (ordering !== undefined || origin.broker === undefined) return ordering === 'by-key'
  return event.key !== undefined && origin['collectedFrom'] === undefined
}

function problemOf(group: readonly BlockedKey[], maxIds: number): string {
  const [{ letterId, isCertain, reason }] = group as readonly [BlockedKey]
  const ids = group.slice(0, maxIds).map(each => each.letterId)
  const isOne = group.length === 1
  const key = isOne ? 'its key' : 'their keys'
  const letters = isOne ? letterId : `${group.length} discarded letters`
  const what = isCertain
    ? `events of the ${isOne ? 'key' : 'keys'} of ${letters} still wait`
    : `if the ${isOne ? 'consumer' : 'consumers'} of ${letters} ${isOne ? 'keeps' : 'keep'} the order of keys, events of ${key} still wait`
  const more = ids.length < group.length ? ` … (and ${group.length - ids.length} others)` : ''
  return `${what}: ${reason}. Then run: lazaret dlq unblock ${ids.join(' ')}${more}`
}
