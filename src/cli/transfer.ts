import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import { LetterError } from '../core/dead-letter/errors.ts'
import { letterId } from '../core/dead-letter/identity.ts'
import { decodeLetter, encodeLetter } from '../core/dead-letter/json.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import { EventError } from '../core/event/errors.ts'
import { letterCsv } from '../operations/letter-csv.ts'
import { ReplayPatches } from '../operations/replay-patches.ts'
import type { DeadLetterStore, LetterFilter } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import { safeText } from './print/safe-text.ts'

/** The fault of a line that is not JSON. */
export const NOT_JSON = "not JSON; each line must be one letter from 'dlq export'"

/** Letters sent at once. Stores write letters that arrive together in one transaction. */
const BATCH_SIZE = 100

/**
 * The letters as lines of JSON in their stored form, unmasked, so that any store can import them unchanged. Control and
 * bidirectional characters are escaped: the JSON means the same, and a terminal that shows it does not obey them.
 */
export async function* exportLines(
  letters: DeadLetterStore,
  filter: LetterFilter,
): AsyncGenerator<readonly string[]> {
  for await (const page of letterPages(letters, filter))
    yield page.map(letter => `${safeText(encodeLetter(letter))}\n`)
}

/** Ends of lines belong to CSV. A terminal may not obey any other control character. */
function safeLines(text: string): string {
  return text.replace(/[^\r\n\t]+/g, safeText)
}

/** The letters as a table for spreadsheets, masked. */
export async function* exportCsv(
  { deadLetters, replays }: Pick<Store, 'deadLetters' | 'replays'>,
  filter: LetterFilter,
  masks: Masks,
): AsyncGenerator<readonly string[]> {
  const patches = new ReplayPatches(replays, masks)
  for await (const page of letterPages(deadLetters, filter)) {
    await patches.read(page)
    yield page.map(letter => safeLines(letterCsv(letter, patches.masks)))
  }
}

interface ImportReport {
  readonly imported: number
  readonly refused: number
}

/**
 * Saves the letter of each line. An invalid line is reported and skipped. An error of the store ends the import, because
 * all further lines would fail too.
 */
export async function importLines(
  target: DeadLetterStore,
  lines: AsyncIterable<Line>,
  onRefused: (line: number, problem: string) => Promise<void>,
  onProgress: (imported: number) => Promise<void>,
): Promise<ImportReport> {
  let imported = 0
  let refused = 0
  let batch: { readonly line: number; readonly letter: DeadLetter }[] = []
  const flush = async () => {
    const sending = batch
    batch = []
    const results = await Promise.allSettled(sending.map(({ letter }) => target.send(letter)))
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') imported++
      else if (isLineFault(result.reason)) await refuse(sending[index]!.line, result.reason)
    }
    const broken = results.find(result => result.status === 'rejected' && !isLineFault(result.reason))
    if (broken !== undefined) throw new ImportFailedError(imported, (broken as PromiseRejectedResult).reason)
    await onProgress(imported)
  }
  const refuse = async (line: number, error: unknown) => {
    refused++
    await onRefused(line, firstFault(error))
  }
  for await (const { number, text } of lines) {
    if (text?.trim() === '') continue
    try {
      batch.push({ line: number, letter: readLetter(text) })
    } catch (error) {
      await refuse(number, error)
    }
    if (batch.length === BATCH_SIZE) await flush()
  }
  await flush()
  return { imported, refused }
}

/** The store failed during the import. The letters before the failure are saved. */
export class ImportFailedError extends Error {
  override readonly name = 'ImportFailedError'
  readonly imported: number

  constructor(imported: number, cause: unknown) {
    super(`the store failed after ${imported} letters: ${(cause as Error).message}`, { cause })
    this.imported = imported
  }
}

function readLetter(text: string | undefined): DeadLetter {
  if (text === undefined)
    throw new Error(`the line is longer than ${MAX_BYTES} bytes, the most that a letter can have`)
  const letter = decodeLetter(text)
  const { id, channel, handler, event } = letter
  // A letter with a wrong ID would become a second letter when its event fails again.
  if (letterId(channel, handler, event) !== id)
    throw new Error(
      'the ID does not match the channel, handler and event; the line was edited after the export',
    )
  return letter
}

function isLineFault(error: unknown): boolean {
  return error instanceof LetterError || error instanceof EventError
}

function firstFault(error: unknown): string {
  if (!(error instanceof LetterError)) return (error as Error).message
  const [fault] = error.faults
  if (fault?.path === 'text') return NOT_JSON
  return fault === undefined ? error.message : `${fault.path}: got ${fault.received}; ${fault.remedy}`
}

interface Line {
  /** From 1. */
  readonly number: number
  /** Undefined when the line is too long. */
  readonly text: string | undefined
}

/** The largest possible letter: a payload of 256 MiB as base64, with its history. */
const MAX_BYTES = 400 * 1024 * 1024
const NEWLINE = 10

/** Splits bytes into lines, keeping no more of them than one line. */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  mostBytes = MAX_BYTES,
): AsyncGenerator<Line> {
  const decoder = new TextDecoder()
  let parts: Uint8Array[] = []
  let size = 0
  let number = 0
  const finish = (): Line => {
    const text = size > mostBytes ? undefined : decoder.decode(Buffer.concat(parts))
    parts = []
    size = 0
    return { number: ++number, text }
  }
  const keep = (part: Uint8Array) => {
    size += part.length
    if (size <= mostBytes) parts.push(part)
    else parts = []
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, end))
      yield finish()
      from = end + 1
    }
    keep(chunk.subarray(from))
  }
  if (size > 0) yield finish()
}
