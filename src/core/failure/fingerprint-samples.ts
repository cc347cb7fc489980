import { memoizeRecent } from '../memoize-recent.ts'
import { CauseWalk } from './chain.ts'
import type { Failure } from './failure.ts'
import { normalise } from './normalise.ts'
import { property, type Thrown, textProperty } from './thrown.ts'

/** So many failures take over the fingerprint of an earlier one with the same key. Then one is computed again. */
const TRUSTED_FAILURES = 15
/** The key has been seen with two fingerprints, so each of its failures is computed. */
const VARIES = -1
const MAX_KEYS = 256

interface Sample {
  readonly id: string
  /** How many failures may still take over the id, or `VARIES`. */
  trusted: number
}

/**
 * Answers the fingerprints of attempts that are retried. The exact one needs the stack, and writing the stack costs more than
 * all other work on a failure. So most failures take over the fingerprint of an earlier failure with the same name, code and
 * message. One in sixteen is computed, and a key under which two places in the code were seen is not trusted any more.
 *
 * The failure of a letter always has its exact fingerprint. Only earlier attempts of its history can have that of another
 * place, if both throw the same error with the same message.
 */
export class FingerprintSamples {
  readonly #samples = new Map<string, Sample>()

  idOf(thrown: unknown, failure: Failure): string {
    const key = keyOf(thrown, failure)
    if (key === undefined) return failure.fingerprint.id
    const sample = this.#samples.get(key)
    if (sample !== undefined && sample.trusted > 0) {
      sample.trusted--
      return sample.id
    }
    const { id } = failure.fingerprint
    if (sample === undefined) this.#add(key, { id, trusted: TRUSTED_FAILURES })
    else sample.trusted = sample.trusted !== VARIES && sample.id === id ? TRUSTED_FAILURES : VARIES
    return id
  }

  #add(key: string, sample: Sample): void {
    if (this.#samples.size >= MAX_KEYS) this.#samples.clear()
    this.#samples.set(key, sample)
  }
}

/** Most failures of a moment have the same few messages. */
const normaliseRecent = memoizeRecent<undefined, string>(normalise, () => true)

/** Undefined if no earlier failure can stand for this one: it names its own group, or it carries several errors. */
function keyOf(thrown: unknown, { name, code, message, decidedBy }: Failure): string | undefined {
  if (property(thrown, 'errors') !== undefined) return undefined
  const head = `${decidedBy}\n${name}\n${code}\n${normaliseRecent(message, undefined)}`
  const cause = property(thrown, 'cause')
  if (cause === undefined || cause === null) return namesGroup(thrown) ? undefined : head
  const chain = new CauseWalk().chainFrom(thrown)
  if (chain.some(({ value }) => namesGroup(value) || property(value, 'errors') !== undefined))
    return undefined
  return `${head}\n${describe(chain.at(-1)!)}`
}

function namesGroup(value: unknown): boolean {
  return textProperty(value, 'fingerprint') !== undefined
}

function describe({ name, code, message }: Thrown): string {
  return `${name}\n${code}\n${normalise(message)}`
}
