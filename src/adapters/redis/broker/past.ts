import { attemptsAtRest, readAttempts } from '../../../adapter-kit/delivery/attempt-history.ts'
import { DEFAULT_MAX_ATTEMPTS_KEPT, keepFirstAndLatest } from '../../../core/dead-letter/caps.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { TextCodec } from '../../../ports/codec.ts'

/** What has happened to an event in this cycle. */
export interface Past {
  /** The id it had in the stream at first: how it is known, however often it is put back. */
  readonly from: string
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]
}

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([])
const FORM = /^(\d+-\d+) (\d+) (\d+) ?(.*)$/s

/** The field of an entry that has it. Scripts read and write its numbers, and pass the history on as it is. */
export const PAST_FIELD = 'lazaret-past'
/** The field that has all others, as a list in JSON, where there are too many of them to be put back one by one. */
export const FIELDS_FIELD = 'lazaret-fields'

/** Of an entry that is there for the first time. */
export function noPast(id: string): Past {
  return { from: id, started: 0, ended: 0, history: NO_ATTEMPTS }
}

export function addEnded(past: Past, more: readonly AttemptRecord[]): Past {
  if (more.length === 0) return past
  const history = keepFirstAndLatest([...past.history, ...more], DEFAULT_MAX_ATTEMPTS_KEPT)
  return { ...past, ended: past.ended + more.length, history }
}

export function writePast({ from, started, ended, history }: Past, texts: TextCodec | undefined): string {
  const text = history.length === 0 ? '' : ` ${JSON.stringify(attemptsAtRest(history, texts))}`
  return `${from} ${started} ${ended}${text}`
}

export function readPast(text: string, id: string, texts: TextCodec | undefined): Past {
  const [, from = id, started = '0', ended = '0', history = ''] = FORM.exec(text) ?? []
  return { from, started: Number(started), ended: Number(ended), history: readHistory(history, texts) }
}

function readHistory(text: string, texts: TextCodec | undefined): readonly AttemptRecord[] {
  if (text === '') return NO_ATTEMPTS
  try {
    return readAttempts(JSON.parse(text) as AttemptRecord[], texts)
  } catch {
    // Somebody else wrote it. The counts are what decisions rest on.
    return NO_ATTEMPTS
  }
}
