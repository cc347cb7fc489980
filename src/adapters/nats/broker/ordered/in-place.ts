import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { type Entry, readPermanentKey } from '../consume/entry.ts'
import { logIn } from '../wire/message-log.ts'

type Event = LineEvent<Entry>

/**
 * Held events whose messages leave no room for their attempts. The state stream has only their states. The messages stay in
 * their own streams, unsettled, so that the server delivers them to the next owner too.
 */
export class InPlace {
  readonly #context: SubscriptionContext
  readonly #byHeldKey = new Map<string, { readonly messageKey: string; readonly attempts: AttemptLog }>()
  readonly #heldKeys = new Map<string, string>()

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** `messageKey` is the permanent key of the message. */
  add(heldKey: string, messageKey: string, attempts: AttemptLog): void {
    this.#byHeldKey.set(heldKey, { messageKey, attempts })
    this.#heldKeys.set(messageKey, heldKey)
  }

  delete({ heldKey }: Event): void {
    const found = this.#byHeldKey.get(heldKey)
    this.#byHeldKey.delete(heldKey)
    if (found !== undefined) this.#heldKeys.delete(found.messageKey)
  }

  /** The attempts of an event; undefined if its message does not stay where it is. */
  attemptsOf({ heldKey }: Event): AttemptLog | undefined {
    return this.#byHeldKey.get(heldKey)?.attempts
  }

  /** The key under which the event of a message is held. A replay is held under the key of the event whose place it took. */
  heldKeyOf(messageKey: string): string {
    return this.#heldKeys.get(messageKey) ?? messageKey
  }

  /** The event as its stream has it, if the server has not delivered it to this owner. Undefined if it is not there any more. */
  async entry(event: Event): Promise<Entry | undefined> {
    const { jetstream, names, settings } = this.#context
    const held = this.#byHeldKey.get(event.heldKey)
    const key = readPermanentKey(held?.messageKey ?? '')
    if (held === undefined || key === undefined) return undefined
    const { source, sequence, storedAt } = key
    const stream = names.streams[source]
    const stored = await jetstream.message(stream, { seq: sequence })
    if (stored?.storedAt !== storedAt) return undefined
    const message = { ...stored, stream, deliverySequence: 0, deliveries: 1, ackSubject: '' }
    return {
      source,
      message,
      ackSubject: undefined,
      log: logIn(source, settings.name, stored, { stream, sequence, storedAt }, settings.clock.now()),
      isSuspect: false,
      known: held.attempts,
      noteAt: undefined,
      line: event,
      isHeld: true,
    }
  }
}
