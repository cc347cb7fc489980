import { LetterError } from '../core/dead-letter/errors.ts'
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { type LetterState, WAITING_STATES } from '../core/dead-letter/state.ts'
import type { DeadLetterStore, SeenLetter } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import type { BulkAction } from './bulk.ts'
import type { Decision } from './decision.ts'
import { deleteStep } from './freeze.ts'
import { triageGroup } from './triage.ts'

/** The calls of a store that one batch has under way. */
const AT_ONCE = 25

/** Deletes letters for good. */
export const PURGE: BulkAction = {
  name: 'letters.purge',
  done: 'deleted',
  step: deleteStep,
}

/** Letters in these states can be discarded. */
export const DISCARDED_FROM: readonly LetterState[] = WAITING_STATES

/** Discards letters whose events need not be handled. Events of the same key that wait for them continue. */
export const DISCARD: BulkAction = {
  name: 'letters.discard',
  done: 'changed',
  step: (store, decision, keys) => (batch, done) =>
    each(batch, async seen => {
      const discarded = await changeSeen(store, seen, 'discarded', decision)
      if (discarded === undefined) return
      done(seen.id)
      await keys.afterDiscard(discarded, decision)
    }),
}

/** Letters in these states can be released. */
export const RELEASED_FROM: readonly LetterState[] = ['quarantined']

/** Makes quarantined letters dead again, so that they can be replayed. */
export const RELEASE: BulkAction = {
  name: 'letters.release',
  done: 'changed',
  step: (store, decision) => (batch, done) =>
    each(batch, async seen => {
      if ((await changeSeen(store, seen, 'dead', decision)) !== undefined) done(seen.id)
    }),
}

/** Makes a person the owner of the groups of the letters. */
export function assignTo(owner: string): BulkAction {
  return {
    name: 'letters.assign',
    done: 'changed',
    detail: { owner },
    step(store, { by, at }) {
      const assigned = new Map<string, Promise<unknown>>()
      return (batch, done) =>
        each(batch, async seen => {
          const letter = await readSeen(store.deadLetters, seen)
          if (letter === undefined) return
          const { id } = groupingOf(letter)
          const assigning = assigned.get(id) ?? triageGroup(store, id, { owner, by, at })
          assigned.set(id, assigning)
          if ((await assigning) !== undefined) done(seen.id)
        })
    },
  }
}

/** Writes letters as lines. `write` gets the lines of a batch, in the order of the selection. */
export function exportAs(
  format: string,
  lineOf: (letter: DeadLetter) => Promise<string> | string,
  write: (text: string) => Promise<void> | void,
  detail: BulkAction['detail'] = {},
): BulkAction {
  return {
    name: 'letters.export',
    done: 'exported',
    detail: { format, ...detail },
    step:
      ({ deadLetters }) =>
      async (batch, done) => {
        const lines = new Map<string, string>()
        await each(batch, async seen => {
          const letter = await readSeen(deadLetters, seen).catch(ifUnreadable)
          if (letter !== undefined) lines.set(seen.id, await lineOf(letter))
        })
        await write(batch.map(({ id }) => lines.get(id) ?? '').join(''))
        for (const id of lines.keys()) done(id)
      },
  }
}

/** One letter that cannot be read must not keep the others from being exported. The caller reports those that are missing. */
function ifUnreadable(error: unknown): undefined {
  if (!(error instanceof LetterError)) throw error
}

function changeSeen(
  { deadLetters }: Pick<Store, 'deadLetters'>,
  { id, state, lastFailedAt }: SeenLetter,
  to: LetterState,
  { at, by }: Decision,
): Promise<DeadLetter | undefined> {
  return deadLetters.change(id, { to, from: state, onlyIfLastFailedAt: lastFailedAt, at, by })
}

/** The letter, unless it has changed since it was seen. */
async function readSeen(
  deadLetters: Pick<DeadLetterStore, 'get'>,
  { id, state, lastFailedAt }: SeenLetter,
): Promise<DeadLetter | undefined> {
  const letter = await deadLetters.get(id)
  return letter?.state === state && letter.cycle.lastFailedAt === lastFailedAt ? letter : undefined
}

/** Works on the letters, some at a time. */
async function each(batch: readonly SeenLetter[], work: (seen: SeenLetter) => Promise<void>): Promise<void> {
  for (let at = 0; at < batch.length; at += AT_ONCE) {
    const some = batch.slice(at, at + AT_ONCE)
    // The others of a call that fails go on: what they change has to be counted.
    const worked = await Promise.allSettled(some.map(work))
    const failed = worked.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }
}
