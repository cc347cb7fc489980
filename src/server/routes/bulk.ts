import { LetterError } from '../../core/dead-letter/errors.ts'
import { LETTER_STATES, type LetterState } from '../../core/dead-letter/state.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import {
  type BulkAction,
  type BulkRequest,
  type BulkSelection,
  failedUntil,
  freezeBulk,
  runBulk,
} from '../../operations/bulk.ts'
import { DISCARD, DISCARDED_FROM, PURGE, RELEASE, RELEASED_FROM } from '../../operations/bulk-actions.ts'
import { countStates, digestFrozen } from '../../operations/freeze.ts'
import type { KeyUnblocker } from '../../operations/unblock-keys.ts'
import type { LetterCounts } from '../../ports/dead-letters.ts'
import type { Caller } from '../auth/caller.ts'
import { answerLines, wantsLines } from '../http/json-lines.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError, problemOf } from '../problem.ts'
import {
  assignBody,
  type BulkBody,
  type BulkDone,
  type BulkLine,
  type BulkPreviewBody,
  bulkBody,
  bulkDone,
  bulkPreview,
  bulkPreviewBody,
  exportBody,
} from '../schema/bulk.ts'
import { iso } from '../schema/common.ts'
import type { Action } from '../schema/me.ts'
import type { StoreFault } from '../store-fault.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import { toLetterFilter } from '../views/filter.ts'
import { withBlockedKeys } from '../views/letter.ts'
import { type ActionFor, assignAction, type BulkContext, exportAction } from './bulk-kinds.ts'
import { auditSearch } from './letters.ts'

const route = routeFor<BulkContext>()
const LETTERS = `${API}/dead-letters`
/** What the server remembers of so many letters takes about 60 MB. */
const MAX_SELECTED = 300_000
/** An export in one answer is kept in memory. Larger ones are sent in parts. */
const MAX_TEXT = 20_000_000

/** One action on every letter that matches. */
interface Bulk<S extends typeof bulkBody> {
  readonly verb: 'purge' | 'discard' | 'release' | 'assign' | 'export'
  readonly action: Action
  readonly body: S
  readonly about: string
  readonly states?: readonly LetterState[]
  readonly command: string
  readonly actionFor: ActionFor<S['_output']>
  /** The letters are written in the order of the list. */
  readonly isOrdered?: true
}

/**
 * An action on every letter that matches takes two requests: a person sees in the preview which letters are meant, and the action
 * works on exactly these or on none. The server keeps nothing in between, so that any of several servers can answer the second
 * request: the client brings back the cut-off and the digest, and the server freezes the same selection again and compares.
 */
export const bulkRoutes = [
  ...routesOf({
    verb: 'purge',
    action: 'letters.purge',
    body: bulkBody,
    about: 'Deletes the letters of a preview permanently',
    command: 'lazaret dlq purge',
    actionFor: () => PURGE,
  }),
  ...routesOf({
    verb: 'discard',
    action: 'letter.discard',
    body: bulkBody,
    about: 'Discards the letters of a preview: those that are dead, quarantined or parked',
    states: DISCARDED_FROM,
    command: 'lazaret dlq discard',
    actionFor: () => DISCARD,
  }),
  ...routesOf({
    verb: 'release',
    action: 'letter.reopen',
    body: bulkBody,
    about: 'Releases the quarantined letters of a preview, so that they can be replayed',
    states: RELEASED_FROM,
    command: 'lazaret dlq release',
    actionFor: () => RELEASE,
  }),
  ...routesOf({
    verb: 'assign',
    action: 'group.triage',
    body: assignBody,
    about: 'Makes a person the owner of the groups of the letters of a preview',
    command: 'lazaret dlq assign',
    actionFor: assignAction,
  }),
  ...routesOf({
    verb: 'export',
    action: 'letters.export',
    body: exportBody,
    about: 'Returns the letters of a preview as CSV or as JSON lines, masked, in `text`',
    command: 'lazaret dlq export',
    actionFor: exportAction,
    isOrdered: true,
  }),
]

function routesOf<S extends typeof bulkBody>(bulk: Bulk<S>) {
  const path = `${LETTERS}/${bulk.verb}`
  return [
    route({
      method: 'POST',
      path: `${path}/preview`,
      about: `Counts the letters that \`${bulk.verb}\` would work on. The action needs the cut-off time and digest of the answer.`,
      action: bulk.action,
      body: bulkPreviewBody,
      answer: bulkPreview,
      async handle({ context, caller, body }) {
        const at = context.clock.now()
        const selections = await freezeAll(context, caller, bulk, body, at)
        return {
          count: countAll(selections),
          byState: statesOf(selections),
          until: iso(at),
          digest: await digestOf(selections),
        }
      },
    }),
    route({
      method: 'POST',
      path,
      about: `${bulk.about}, unless the selection has changed. With \`Accept: application/x-ndjson\` it answers the progress as JSON lines. Closing the connection cancels it.`,
      action: bulk.action,
      body: bulk.body as typeof bulkBody,
      answer: bulkDone,
      async handle({ context, caller, request, body }) {
        const { expectedCount, until, digest } = body
        // The letters frozen now are the letters worked on: letters that come later are not among them.
        const selections = await freezeAll(context, caller, bulk, body, Date.parse(until), expectedCount)
        requireCount(bulk, countAll(selections), expectedCount)
        if ((await digestOf(selections)) !== digest)
          throw new ProblemError(
            'conflict',
            `The letters that match have changed since ${until}${changeOf(body.byState, statesOf(selections))}. ${previewAgain(bulk)}`,
          )
        const run = (around: RunOptions) => runAll(context, caller, bulk, selections, body, around)
        if (wantsLines(request)) return asLines(context, run, countAll(selections))
        let text = ''
        const tooLarge = new AbortController()
        const write = (part: string) => {
          text += part
          if (text.length > MAX_TEXT) tooLarge.abort()
        }
        const done = await run({ signal: AbortSignal.any([request.signal, tooLarge.signal]), write })
        if (tooLarge.signal.aborted)
          throw new ProblemError(
            'unprocessable',
            `The export has more than ${MAX_TEXT} characters. Send 'Accept: application/x-ndjson' to get it in parts, or use ${bulk.command}.`,
          )
        return text === '' ? done : { ...done, text }
      },
    }),
  ]
}

interface RunOptions {
  /** An abort cancels the action after the batch under way. */
  readonly signal: AbortSignal
  readonly onProgress?: (word: BulkAction['done'], done: number) => Promise<void> | void
  readonly write: (text: string) => void
}

/** Works on the letters of all stores, one store after the other. A store that fails does not keep the others. */
async function runAll<S extends typeof bulkBody>(
  context: BulkContext,
  caller: Caller,
  bulk: Bulk<S>,
  selections: readonly StoreSelection[],
  body: BulkBody,
  { signal, onProgress, write }: RunOptions,
): Promise<BulkDone> {
  const { clock } = context
  let done = 0
  let word: BulkAction['done'] = 'changed'
  const failed: StoreFault[] = []
  const incomplete: StoreFault[] = []
  const unblockers: KeyUnblocker[] = []
  for (const [index, { name, store, selection }] of selections.entries()) {
    if (signal.aborted) break
    let here = 0
    const action = bulk.actionFor({ body, context, named: { name, store }, isFirst: index === 0, write })
    word = action.done
    const onDone = (soFar: number) => {
      here = soFar
    }
    const onBatch = () => onProgress?.(word, done + here)
    const keys = context.keysOf({ store })
    unblockers.push(keys)
    try {
      const around = { signal, clock, keys, at: clock.now(), note: body.reason, onDone, onProgress: onBatch }
      await runBulk(store, selection, action, caller.name, around)
    } catch (error) {
      // The error of a letter quotes what is stored.
      const { message } = error instanceof LetterError ? problemOf(error) : (error as Error)
      failed.push({ store: name, problem: withoutCredentials(message) })
    }
    done += here
    const left = selection.frozen.letters.size - here
    if (word === 'exported' && left > 0 && !signal.aborted && failed.length === 0)
      incomplete.push({ store: name, problem: `${left} of its letters cannot be read, or changed meanwhile` })
  }
  if (bulk.verb !== 'export') context.announce('letters', 'groups')
  const [first] = failed
  if (first !== undefined && done === 0)
    throw new ProblemError(
      'unavailable',
      `Store ${first.store} failed (${first.problem}). Preview the action again before you retry.`,
    )
  const isCancelled = signal.aborted && done < countAll(selections)
  return {
    [word]: done,
    ...withBlockedKeys(unblockers),
    ...(isCancelled ? { cancelled: true as const } : {}),
    ...withFaults([...failed, ...incomplete]),
  }
}

/**
 * Answers the progress as JSON lines. An export goes on when its client has read the letters before, because the server would have to
 * keep them.
 */
function asLines(context: BulkContext, run: (around: RunOptions) => Promise<BulkDone>, of: number): Response {
  return answerLines<BulkLine>(context, async ({ signal, send, hasRoom }) => {
    let text = ''
    const onProgress = async (word: BulkAction['done'], done: number) => {
      if (text === '') return send({ [word]: done, of })
      await hasRoom()
      send({ [word]: done, of, text })
      text = ''
    }
    const write = (part: string) => {
      text += part
    }
    const done = await run({ signal, onProgress, write })
    // Without letters there was no progress, and the header of the CSV is not sent yet.
    if (text !== '') await onProgress('exported', done.exported ?? 0)
    send({ done })
  })
}

interface StoreSelection extends NamedStore {
  readonly selection: BulkSelection
}

/** Freezes the selection in every store. Counting first is quick, and keeps a selection that is too large out of memory. */
async function freezeAll<S extends typeof bulkBody>(
  context: BulkContext,
  caller: Caller,
  bulk: Bulk<S>,
  body: BulkPreviewBody,
  at: number,
  expectedCount?: number,
): Promise<readonly StoreSelection[]> {
  const { states } = bulk
  const request: BulkRequest = { filter: toLetterFilter(body.filter), states, at }
  const { found, faults } = await context.stores.each(async named => {
    // The count discloses masked text, also when the action is refused because of it.
    await auditSearch(context, caller, named, request.filter)
    const { count, byState } = await named.store.deadLetters.stats(failedUntil(request))
    return states === undefined ? count : states.reduce((sum, state) => sum + (byState[state] ?? 0), 0)
  }, body.store)
  const [down] = faults
  if (down !== undefined) throw storeDown(down.store, down.problem)
  const count = found.reduce((sum, { value }) => sum + value, 0)
  if (expectedCount !== undefined) requireCount(bulk, count, expectedCount)
  if (count > MAX_SELECTED)
    throw new ProblemError(
      'unprocessable',
      `${count} letters match, more than the ${MAX_SELECTED} of one request. Use ${bulk.command}.`,
    )
  const selections: StoreSelection[] = []
  for (const { name, store } of found)
    try {
      const selection = await freezeBulk(store, request)
      selections.push({ name, store, selection: bulk.isOrdered ? newestFirst(selection) : selection })
    } catch (error) {
      throw storeDown(name, withoutCredentials((error as Error).message))
    }
  return selections
}

function newestFirst({ request, frozen }: BulkSelection): BulkSelection {
  const letters = new Map([...frozen.letters].sort(([, a], [, b]) => b.lastFailedAt - a.lastFailedAt))
  return { request, frozen: { ...frozen, letters } }
}

function countAll(selections: readonly StoreSelection[]): number {
  return selections.reduce((sum, { selection }) => sum + selection.frozen.letters.size, 0)
}

function statesOf(selections: readonly StoreSelection[]): LetterCounts {
  const byState: { [S in LetterState]?: number } = {}
  for (const { selection } of selections)
    for (const [state, count] of countStates(selection.frozen)) byState[state] = (byState[state] ?? 0) + count
  return byState
}

/** The states whose numbers differ from those of the preview, in words. */
function changeOf(before: LetterCounts | undefined, now: LetterCounts): string {
  if (before === undefined) return ''
  const states = LETTER_STATES.filter(state => (before[state] ?? 0) !== (now[state] ?? 0))
  if (states.length === 0) return ' (other letters, or letters that failed again)'
  return ` (${states.map(state => `${state}: ${before[state] ?? 0} then, ${now[state] ?? 0} now`).join('; ')})`
}

function digestOf(selections: readonly StoreSelection[]): Promise<string> {
  return digestFrozen(new Map(selections.map(({ name, selection }) => [name, selection.frozen])))
}

function previewAgain({ verb }: { readonly verb: string }): string {
  return `Nothing was ${verb === 'purge' ? 'deleted' : 'done'}. Preview the ${verb} again with POST ${LETTERS}/${verb}/preview.`
}

function requireCount(bulk: { readonly verb: string }, count: number, expectedCount: number): void {
  if (count === expectedCount) return
  const matching = count === 1 ? '1 letter matches' : `${count} letters match`
  const difference =
    count > expectedCount
      ? `${count - expectedCount} more than in the preview`
      : `${expectedCount - count} fewer than in the preview`
  throw new ProblemError(
    'conflict',
    `${matching}, not ${expectedCount}: ${difference}. ${previewAgain(bulk)}`,
  )
}

function storeDown(name: string, problem: string): ProblemError {
  return new ProblemError('unavailable', `Store ${name} does not answer (${problem}). Nothing was done.`)
}
