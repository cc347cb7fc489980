import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { LetterError } from '../../core/dead-letter/errors.ts'
import { letterId } from '../../core/dead-letter/identity.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { isVerified, splitVerified } from '../../core/dead-letter/verify.ts'
import { MAX_ID_BYTES } from '../../core/event/limits.ts'
import { isBytes } from '../../core/event/plain.ts'
import { type Clock, delay } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import { NotCollectedError } from './errors.ts'

const FIRST_BACKOFF_MS = 250
const MAX_BACKOFF_MS = 15_000

/** A message of another program as a letter. */
interface Collected {
  readonly letter: DeadLetter
  /** The bytes of the message. They distinguish two messages with one id. */
  readonly content: Uint8Array
  /** The message may be saved already, and nothing on it shows a new failure. A new time would look like one. */
  readonly mayBeKnown: boolean
}

interface SaverSettings {
  /** The name of the collector. */
  readonly name: string
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/** Saves collected letters in the store. While the store is down, the callers keep the messages, and the saver tries again. */
export class LetterSaver {
  readonly #settings: SaverSettings
  readonly #store: DeadLetterStore
  /** The last of those that are being stored under an id. */
  readonly #turns = new Map<string, Promise<void>>()
  /** Whether saving fails. The problem is reported once for as long as it lasts, and not for every letter. */
  #isFailing = false

  constructor(settings: SaverSettings, store: DeadLetterStore) {
    this.#settings = settings
    this.#store = store
  }

  /** Resolves to true when the letter is durable, and to false if it is no longer wanted. */
  async save(collected: Collected, isWanted: () => boolean): Promise<boolean> {
    const { letter } = collected
    for (let restMs = FIRST_BACKOFF_MS; isWanted(); restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)) {
      try {
        await this.#inTurn(letter.id, () => this.#saveOne(collected))
        this.#isFailing = false
        return true
      } catch (error) {
        this.#tell(error, letter)
        await delay(this.#settings.clock, restMs)
      }
    }
    return false
  }

  async #saveOne({ letter: told, content, mayBeKnown }: Collected): Promise<void> {
    const stored = await this.#intact(told.id)
    const letter = isVerified(told) ? told : (await splitVerified(told, async () => stored))[0]!
    const distinct = distinctLetter(letter, stored, content)
    const known = distinct === letter || !mayBeKnown ? stored : await this.#store.get(distinct.id)
    if (mayBeKnown && known !== undefined) return
    await this.#store.send(distinct)
    if (stored === undefined) await this.#sendIfTaken(letter, content)
  }

  /**
   * The stored letter. A damaged one counts as none: the next failure of its event replaces it. A missing key is a fault of this
   * process, which collects nothing over sealed letters.
   */
  async #intact(id: string): Promise<DeadLetter | undefined> {
    try {
      return await this.#store.get(id)
    } catch (error) {
      if (error instanceof LetterError) return undefined
      throw error
    }
  }

  /** Another collector may have stored another message with the same id meanwhile. The first one keeps the id. */
  async #sendIfTaken(letter: DeadLetter, content: Uint8Array): Promise<void> {
    const distinct = distinctLetter(letter, await this.#store.get(letter.id), content)
    if (distinct !== letter) await this.#store.send(distinct)
  }

  /** Saves letters with one id in sequence, so that the second is compared with the first. */
  async #inTurn(id: string, work: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(id) ?? Promise.resolve()).catch(() => {}).then(work)
    this.#turns.set(id, turn)
    try {
      await turn
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id)
    }
  }

  #tell(error: unknown, { channel }: DeadLetter): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const { name } = this.#settings
    this.#settings.onError(new NotCollectedError(`collector '${name}': saving letters of ${channel}`, error))
  }
}

const HASH_DIGITS = 16

/**
 * The letter to save, given the one that the store has under the same id. Programs use one message id for several messages, and
 * the letter of the second would take the place of the first: different content is a different letter. Its id is made of
 * the message's id and content, so that the same message comes to the same letter each time it is found.
 */
function distinctLetter(letter: DeadLetter, stored: DeadLetter | undefined, content: Uint8Array): DeadLetter {
  // A replay says itself which letter it is of, and may have been edited.
  if (stored === undefined || letter.cycle.number > 0) return letter
  if (isSameContent(stored.event.payload, letter.event.payload)) return letter
  const { event, channel, handler } = letter
  const ending = `~${hash('sha256', content).slice(0, HASH_DIGITS)}`
  const id = `${fitting(event.id, MAX_ID_BYTES - ending.length)}${ending}`
  const idempotencyKey = event.idempotencyKey === event.id ? id : event.idempotencyKey
  const distinct = { ...event, id, idempotencyKey }
  return { ...letter, event: distinct, id: letterId(channel, handler, distinct) }
}

function isSameContent(a: unknown, b: unknown): boolean {
  if (isBytes(a) || isBytes(b)) return isBytes(a) && isBytes(b) && Buffer.compare(a, b) === 0
  // Compares the values in the form that a store reads back, because JSON has no -0.
  return isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)))
}

/** The longest beginning of the text that fits, without half a character at its end. */
function fitting(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '')
}
