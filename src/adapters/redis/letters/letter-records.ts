import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { RedisArgument } from '../connection/client.ts'
import type { RedisConnection, SendOptions } from '../connection/connection.ts'
import { run, type Script } from '../connection/script.ts'
import type { Keys } from '../keys.ts'
import { factsOf } from './facts.ts'
import { read, type Saved, save } from './scripts.ts'

/** A letter and the version it was read at. */
export interface Known {
  readonly letter: DeadLetter
  readonly version: string
}

/** How long a letter is kept from its last write on: so long, or as long as it was given when it came. */
type Life = Retention | 'keep'

/** Asking again changes nothing: these may go twice when a connection breaks. */
const REPEATABLE: SendOptions = { again: true }

/** Where letters and groups run their scripts. */
export class Desk {
  readonly #connection: RedisConnection
  readonly #root: string
  readonly #codec: LetterCodec
  readonly maxLetters: number

  constructor(connection: RedisConnection, keys: Keys, codec: LetterCodec, maxLetters: number) {
    this.#connection = connection
    this.#root = keys.of('letters')
    this.#codec = codec
    this.maxLetters = maxLetters
  }

  run<T>(script: Script<T>, args: readonly RedisArgument[], options?: SendOptions): Promise<T> {
    return run(this.#connection, script, [this.#root], args, options)
  }

  ask<T>(script: Script<T>, args: readonly RedisArgument[]): Promise<T> {
    return this.run(script, args, REPEATABLE)
  }

  /** Asks until everything that is due has been swept: what is gone is neither shown nor counted. */
  async askSwept<T>(script: Script<T | undefined>, args: readonly RedisArgument[]): Promise<T> {
    for (;;) {
      const answer = await this.ask(script, args)
      if (answer !== undefined) return answer
    }
  }

  async read(id: string): Promise<Known | undefined> {
    const kept = await this.ask(read, [id])
    return kept && { letter: this.decode(kept.body), version: kept.version }
  }

  decode(body: string): DeadLetter {
    return this.#codec.decode(body)
  }

  /** A text that stands beside letters, as it was before it was sealed. */
  openText(text: string): string {
    return this.#codec.texts?.decode(text) ?? text
  }

  /** Writes it where it was read, or where there was none. */
  save(letter: DeadLetter, from: Known | undefined, life: Life, options?: SendOptions): Promise<Saved> {
    const args = [
      letter.id,
      from?.version ?? '',
      this.#codec.encode(letter),
      String(this.maxLetters),
      ...livesOf(life),
      letter.expiresAt === undefined ? '' : String(letter.expiresAt),
      ...factsOf(letter, this.#codec.texts),
    ]
    return this.run(save, args, options)
  }
}

/** Decided and undecided, as `save` reads them. */
function livesOf(life: Life): readonly [decided: string, undecided: string] {
  if (life === 'keep') return ['keep', '']
  const lifeText = (ms: number | 'never') => (ms === 'never' ? '' : String(ms))
  return [lifeText(life.retentionMs), lifeText(life.expireUndecidedAfterMs)]
}
