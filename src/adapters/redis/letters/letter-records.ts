import { readLetter } from '../../../adapter-kit/query/readable-letters.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { RedisArgument } from '../connection/client.ts'
import type { RedisConnection, SendOptions } from '../connection/connection.ts'
import { type Script, ScriptRunner } from '../connection/script.ts'
import { keysOf } from '../keys.ts'
import type { RedisSettings } from '../options.ts'
import { factsOf } from './facts.ts'
import { read, type Saved, save } from './scripts.ts'

/** A letter and the version it was read at. */
export interface KnownLetter {
  readonly letter: DeadLetter
  readonly version: string
}

/** The letters of one prefix as records on the server. Letters and groups run their scripts here. */
export class LetterRecords extends ScriptRunner {
  readonly #codec: LetterCodec
  readonly maxLetters: number

  constructor(
    connection: RedisConnection,
    { prefix, codec, maxLetters }: Pick<RedisSettings, 'prefix' | 'codec' | 'maxLetters'>,
  ) {
    super(connection, keysOf(prefix).of('letters'))
    this.#codec = codec.letters
    this.maxLetters = maxLetters
  }

  /** Repeats a script until all due letters are deleted, so that expired letters are neither shown nor counted. */
  async runAfterExpiry<T>(script: Script<T | undefined>, args: readonly RedisArgument[]): Promise<T> {
    for (;;) {
      const answer = await this.runIdempotent(script, args)
      if (answer !== undefined) return answer
    }
  }

  async read(id: string): Promise<KnownLetter | undefined> {
    const kept = await this.runIdempotent(read, [id])
    return kept && { letter: this.decode(kept.body), version: kept.version }
  }

  decode(body: string): DeadLetter {
    return readLetter(this.#codec, body)
  }

  /** Decrypts a text that is stored beside letters, if it is sealed. */
  openText(text: string): string {
    return this.#codec.texts?.decode(text) ?? text
  }

  /**
   * Writes a letter if the stored one is still `from`, or if there is none. Its retention starts with this write and has
   * the given length, or, with 'keep', the length that it had before.
   */
  save(
    letter: DeadLetter,
    from: Pick<Partial<KnownLetter>, 'version'> | undefined,
    retention: Retention | 'keep',
    options?: SendOptions,
  ): Promise<Saved> {
    const args = [
      letter.id,
      from?.version ?? '',
      this.#codec.encode(letter),
      String(this.maxLetters),
      ...retentionWords(retention),
      expiryWord(letter),
      ...factsOf(letter, this.#codec.texts),
    ]
    return this.run(save, args, options)
  }
}

/** The expiry of the letter itself, in the form that `save` reads. */
function expiryWord({ expiresAt, expiresAfterMs }: DeadLetter): string {
  if (expiresAt !== undefined) return String(expiresAt)
  return expiresAfterMs === 'never' ? 'never' : ''
}

/** The retention of decided and undecided letters, in the form that `save` reads. */
function retentionWords(retention: Retention | 'keep'): readonly [decided: string, undecided: string] {
  if (retention === 'keep') return ['keep', '']
  const word = (ms: number | 'never') => (ms === 'never' ? '' : String(ms))
  return [word(retention.retentionMs), word(retention.expireUndecidedAfterMs)]
}
