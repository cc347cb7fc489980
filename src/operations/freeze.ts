import { createHash } from 'node:crypto'
import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import { type Clock, monotonicNow, systemClock, yieldToEventLoop } from '../ports/clock.ts'
import type { DeadLetterStore, LetterFilter, LetterVersion, SeenLetter } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import { FIRST_BATCH, nextBatchSize } from './batch-size.ts'

/** What is remembered of so many letters takes a few hundred megabytes. */
const MAX_FROZEN = 1_000_000

/**
 * Letters as they were at one moment. Deleting them deletes these and no others: a letter that is stored later is not
 * among them, whatever times it carries, and one that has changed since is left alone.
 */
export interface FrozenLetters {
  readonly letters: ReadonlyMap<string, LetterVersion>
  /** There were more than can be remembered. */
  readonly isCut: boolean
}

/** Selects the letters that match. With `isMeant`, each letter is read and asked, which takes longer. */
export async function freeze(
  store: Store,
  filter: LetterFilter,
  isMeant?: ((letter: DeadLetter) => boolean) | undefined,
  signal?: AbortSignal,
): Promise<FrozenLetters> {
  const letters = new Map<string, LetterVersion>()
  const { deadLetters } = store
  const portions = isMeant === undefined ? deadLetters.versions(filter) : meant(deadLetters, filter, isMeant)
  for await (const portion of portions) {
    if (signal?.aborted) break
    for (const { id, state, lastFailedAt } of portion) {
      if (letters.size >= MAX_FROZEN) return { letters, isCut: true }
      letters.set(id, { state, lastFailedAt })
    }
  }
  return { letters, isCut: false }
}

async function* meant(
  deadLetters: DeadLetterStore,
  filter: LetterFilter,
  isMeant: (letter: DeadLetter) => boolean,
): AsyncGenerator<readonly SeenLetter[]> {
  for await (const page of letterPages(deadLetters, filter))
    yield page.filter(isMeant).map(({ id, state, cycle: { lastFailedAt } }) => ({ id, state, lastFailedAt }))
}

export function countStates({ letters }: FrozenLetters): ReadonlyMap<LetterState, number> {
  const counts = new Map<LetterState, number>()
  for (const { state } of letters.values()) counts.set(state, (counts.get(state) ?? 0) + 1)
  return counts
}

/** The letters whose lines are hashed in one turn of the event loop. They take a few milliseconds. */
const HASHED_PER_TURN = 2_000

/**
 * A digest of the letters of one or more stores, by store name: equal only for the same letters in the same states. It
 * lets a person confirm in a later request what an earlier one showed, without the server remembering it. Stores return letters
 * in no order, so the digest is one of the sum of their hashes.
 */
export async function digestFrozen(stores: ReadonlyMap<string, FrozenLetters>): Promise<string> {
  let sum = 0n
  let count = 0
  for (const [name, { letters }] of stores)
    for (const [id, { state, lastFailedAt }] of letters) {
      const line = JSON.stringify([name, id, state, lastFailedAt])
      sum += BigInt(`0x${createHash('sha256').update(line).digest('hex')}`)
      if (++count % HASHED_PER_TURN === 0) await yieldToEventLoop()
    }
  return createHash('sha256')
    .update(`${count} ${sum.toString(16)}`)
    .digest('hex')
}

/** A batch that was worked on, and the time that it took. */
export interface Batch {
  readonly letters: number
  readonly ms: number
}

interface BatchOptions {
  /** An abort ends it after the batch under way. */
  readonly signal?: AbortSignal | undefined
  /** Measures the batches [the clock of the machine]. */
  readonly clock?: Clock | undefined
  /** Called for each letter that was worked on. */
  onDone?(state: LetterState): void
  onBatch?(batch: Batch): Promise<void> | void
}

/**
 * Works on some letters that are unchanged since the freeze, and calls `done` with the id of each of those. A step that fails may have
 * worked on some letters before.
 */
export type FrozenStep = (batch: readonly SeenLetter[], done: (id: string) => void) => Promise<void>

/** Deletes a batch. */
export function deleteStep({ deadLetters }: Pick<Store, 'deadLetters'>): FrozenStep {
  return async (batch, done) => {
    for (const id of await deadLetters.deleteMany(batch)) done(id)
  }
}

/**
 * Deletes the letters that are unchanged since the freeze: a letter that has failed again was not selected, and may be the only
 * record of its event.
 */
export function deleteFrozen(
  store: Pick<Store, 'deadLetters'>,
  frozen: FrozenLetters,
  options: BatchOptions,
): Promise<void> {
  return workOnFrozen(frozen, deleteStep(store), options)
}

/** Works on the letters in batches. One batch is under way at a time, so that other calls of the store get in between (batch-size). */
export async function workOnFrozen(
  { letters }: FrozenLetters,
  step: FrozenStep,
  { signal, clock = systemClock, onDone, onBatch }: BatchOptions,
): Promise<void> {
  const left = letters.entries()
  let batch = takeFrom(left, FIRST_BATCH)
  while (batch.length > 0 && !signal?.aborted) {
    const startedAt = monotonicNow(clock)
    await step(batch, id => onDone?.(letters.get(id)!.state))
    const ms = monotonicNow(clock) - startedAt
    await onBatch?.({ letters: batch.length, ms })
    batch = takeFrom(left, nextBatchSize(batch.length, ms))
    // A store in memory answers without a turn of the event loop, and everything else would wait for the last batch.
    if (batch.length > 0) await yieldToEventLoop()
  }
}

function takeFrom(letters: Iterator<[string, LetterVersion]>, count: number): SeenLetter[] {
  const taken: SeenLetter[] = []
  while (taken.length < count) {
    const { done, value } = letters.next()
    if (done) break
    taken.push({ id: value[0], ...value[1] })
  }
  return taken
}
