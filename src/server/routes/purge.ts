import { LETTER_STATES, type LetterState } from '../../core/dead-letter/state.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import { countStates, digestFrozen } from '../../operations/freeze.ts'
import {
  failedUntil,
  freezePurge,
  type Purge,
  type PurgeRequest,
  purgeLetters,
} from '../../operations/purge.ts'
import type { LetterCounts } from '../../ports/dead-letters.ts'
import type { Caller } from '../auth/authenticator.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import { iso, type StoreFault } from '../schema/common.ts'
import {
  type Purged,
  type PurgeLine,
  type PurgePreviewBody,
  purgeBody,
  purged,
  purgePreview,
  purgePreviewBody,
} from '../schema/letters.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import { toLetterFilter } from '../views/filter.ts'
import { auditSearch } from './letters.ts'

type Context = Pick<ServerContext, 'stores' | 'searches' | 'clock' | 'announce'>

const route = routeFor<Context>()
const PURGE = `${API}/dead-letters/purge`
/** What the server remembers of so many letters takes about 60 MB. */
const MAX_PURGED = 300_000
const JSON_LINES = 'application/x-ndjson'
const PREVIEW_AGAIN = `Nothing was deleted. Preview the purge again with POST ${PURGE}/preview.`

/**
 * A purge takes two requests: a person sees in the preview what would go, and the purge deletes exactly that or nothing.
 * The server keeps nothing in between, so that any of several servers can answer the second request: the client brings
 * back the cut-off and the digest, and the server freezes the same selection again and compares.
 */
export const purgeRoutes = [
  route({
    method: 'POST',
    path: `${PURGE}/preview`,
    about:
      'Counts the letters that a purge would delete. The purge needs the cut-off time and digest of the answer.',
    action: 'letters.purge',
    body: purgePreviewBody,
    answer: purgePreview,
    async handle({ context, caller, body }) {
      const at = context.clock.now()
      const purges = await freezeAll(context, caller, body, at)
      return {
        count: countAll(purges),
        byState: statesOf(purges),
        until: iso(at),
        digest: await digestOf(purges),
      }
    },
  }),
  route({
    method: 'POST',
    path: PURGE,
    about:
      'Deletes the letters of a preview permanently, unless the selection has changed. With `Accept: application/x-ndjson` it answers the progress as JSON lines. Closing the connection cancels it.',
    action: 'letters.purge',
    body: purgeBody,
    answer: purged,
    async handle({ context, caller, request, body }) {
      const { expectedCount, until, digest } = body
      // The letters frozen now are the letters deleted: letters that come later are not among them.
      const purges = await freezeAll(context, caller, body, Date.parse(until), expectedCount)
      requireCount(countAll(purges), expectedCount)
      if ((await digestOf(purges)) !== digest)
        throw new ProblemError(
          'conflict',
          `The letters that match have changed since ${until}${changeOf(body.byState, statesOf(purges))}. ${PREVIEW_AGAIN}`,
        )
      const run = (around: RunOptions) => deleteAll(context, caller, purges, { ...around, note: body.reason })
      if (request.headers.get('accept')?.includes(JSON_LINES)) return asLines(run, countAll(purges))
      return run({ signal: request.signal })
    },
  }),
]

interface RunOptions {
  /** An abort cancels the purge after the batch under way. */
  readonly signal: AbortSignal
  readonly onProgress?: (deleted: number) => void
}

/** Deletes the letters of all stores, one store after the other. A store that fails does not keep the others. */
async function deleteAll(
  context: Context,
  caller: Caller,
  purges: readonly StorePurge[],
  { signal, onProgress, note }: RunOptions & { readonly note: string },
): Promise<Purged> {
  let deleted = 0
  const failed: StoreFault[] = []
  for (const { name, store, purge } of purges) {
    if (signal.aborted) break
    let here = 0
    const onBatch = (soFar: number) => {
      here = soFar
      onProgress?.(deleted + here)
    }
    try {
      const around = { signal, clock: context.clock, at: context.clock.now(), note, onProgress: onBatch }
      await purgeLetters(store, purge, caller.name, around)
    } catch (error) {
      failed.push({ store: name, problem: withoutCredentials((error as Error).message) })
    }
    deleted += here
  }
  context.announce('letters', 'groups')
  const [first] = failed
  if (first !== undefined && deleted === 0)
    throw new ProblemError(
      'unavailable',
      `Store ${first.store} did not delete the letters (${first.problem}). Preview the purge again before you retry.`,
    )
  const isCancelled = signal.aborted && deleted < countAll(purges)
  return { deleted, ...(isCancelled ? { cancelled: true as const } : {}), ...withFaults(failed) }
}

/** Answers the progress as JSON lines. A client that stops reading cancels the purge. */
function asLines(run: (around: RunOptions) => Promise<Purged>, of: number): Response {
  const stop = new AbortController()
  const encoder = new TextEncoder()
  const lines = new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (line: PurgeLine) => {
        if (!stop.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
      }
      try {
        write({ done: await run({ signal: stop.signal, onProgress: deleted => write({ deleted, of }) }) })
      } catch (error) {
        write({ failed: withoutCredentials((error as Error).message) })
      }
      if (!stop.signal.aborted) controller.close()
    },
    cancel() {
      stop.abort()
    },
  })
  // A proxy that buffers the answer would hide the progress.
  return new Response(lines, { headers: { 'content-type': JSON_LINES, 'x-accel-buffering': 'no' } })
}

interface StorePurge extends NamedStore {
  readonly purge: Purge
}

/** Freezes the selection in every store. Counting first is quick, and keeps a selection that is too large out of memory. */
async function freezeAll(
  context: Context,
  caller: Caller,
  body: PurgePreviewBody,
  at: number,
  expectedCount?: number,
): Promise<readonly StorePurge[]> {
  const request: PurgeRequest = { filter: toLetterFilter(body.filter), isExpiredOnly: false, at }
  const { found, faults } = await context.stores.each(async named => {
    // The audit log has the search of a purge. A preview has no entry of its own, but its count discloses masked text.
    if (expectedCount === undefined) await auditSearch(context, caller, named, request.filter)
    return named.store.deadLetters.stats(failedUntil(request))
  }, body.store)
  const [down] = faults
  if (down !== undefined) throw storeDown(down.store, down.problem)
  const count = found.reduce((sum, { value }) => sum + value.count, 0)
  if (expectedCount !== undefined) requireCount(count, expectedCount)
  if (count > MAX_PURGED)
    throw new ProblemError(
      'unprocessable',
      `${count} letters match, more than the ${MAX_PURGED} of one request. Use lazaret dlq purge.`,
    )
  const purges: StorePurge[] = []
  for (const { name, store } of found)
    try {
      purges.push({ name, store, purge: await freezePurge(store, request) })
    } catch (error) {
      throw storeDown(name, withoutCredentials((error as Error).message))
    }
  return purges
}

function countAll(purges: readonly StorePurge[]): number {
  return purges.reduce((sum, { purge }) => sum + purge.frozen.letters.size, 0)
}

function statesOf(purges: readonly StorePurge[]): LetterCounts {
  const byState: { [S in LetterState]?: number } = {}
  for (const { purge } of purges)
    for (const [state, count] of countStates(purge.frozen)) byState[state] = (byState[state] ?? 0) + count
  return byState
}

/** The states whose numbers differ from those of the preview, in words. */
function changeOf(before: LetterCounts | undefined, now: LetterCounts): string {
  if (before === undefined) return ''
  const states = LETTER_STATES.filter(state => (before[state] ?? 0) !== (now[state] ?? 0))
  if (states.length === 0) return ' (other letters, or letters that failed again)'
  return ` (${states.map(state => `${state}: ${before[state] ?? 0} then, ${now[state] ?? 0} now`).join('; ')})`
}

function digestOf(purges: readonly StorePurge[]): Promise<string> {
  return digestFrozen(new Map(purges.map(({ name, purge }) => [name, purge.frozen])))
}

function requireCount(count: number, expectedCount: number): void {
  if (count === expectedCount) return
  const matching = count === 1 ? '1 letter matches' : `${count} letters match`
  const difference =
    count > expectedCount
      ? `${count - expectedCount} more than in the preview`
      : `${expectedCount - count} fewer than in the preview`
  throw new ProblemError('conflict', `${matching}, not ${expectedCount}: ${difference}. ${PREVIEW_AGAIN}`)
}

function storeDown(name: string, problem: string): ProblemError {
  return new ProblemError('unavailable', `Store ${name} does not answer (${problem}). Nothing was deleted.`)
}
