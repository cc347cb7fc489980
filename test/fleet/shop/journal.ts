import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/ports/clock.ts'
import type { ServiceKind } from './settings.ts'

/**
 * What a process writes down about itself, for the count at the end.
 *
 * - `sending`: it is about to send a letter of a replay; `letter` also names the attempt.
 * - `recorded`: the store knows that the letter was sent.
 * - `reported`: the store has its report; `letter` is the id of the process.
 * - `executing`: it has taken a command; `letter` is the id of the command.
 * - `dead`: the event that it tracked is a dead letter; `letter` is the id of the event.
 */
export interface JournalEntry {
  readonly what: 'sending' | 'recorded' | 'reported' | 'executing' | 'dead'
  readonly kind: ServiceKind
  readonly letter: string
  readonly at: number
  readonly pid: number
}

const PREFIX = 'journal-'

/** The journal of one process. A line is written before the call returns, so that it outlives a kill. */
export class Journal {
  readonly #path: string
  readonly #kind: ServiceKind

  constructor(folder: string, kind: ServiceKind) {
    this.#kind = kind
    this.#path = join(folder, `${PREFIX}${process.pid}.jsonl`)
  }

  write(what: JournalEntry['what'], letter: string): void {
    const entry: JournalEntry = { what, kind: this.#kind, letter, at: systemClock.now(), pid: process.pid }
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`)
  }
}

/** The entries of all processes that wrote into the folder, in the order of time. */
export function readJournals(folder: string): readonly JournalEntry[] {
  return readdirSync(folder)
    .filter(name => name.startsWith(PREFIX))
    .flatMap(name => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as JournalEntry)
    .sort((a, b) => a.at - b.at)
}

/** How often each letter was sent, by letter and attempt. */
export function sendings(entries: readonly JournalEntry[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { what, letter } of entries)
    if (what === 'sending') counts.set(letter, (counts.get(letter) ?? 0) + 1)
  return counts
}
