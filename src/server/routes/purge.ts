import { withoutCredentials } from '../../core/options/show.ts'
import { countStates, digestFrozen } from '../../operations/freeze.ts'
import {
  failedUntil,
  freezePurge,
  type Purge,
  type PurgeRequest,
  purgeLetters,
} from '../../operations/purge.ts'
import type { Caller } from '../auth/authenticator.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import { iso, type StoreFault } from '../schema/common.ts'
import {
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
/** A larger purge would keep a request waiting for minutes. */
const MAX_PURGED = 100_000
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
      const byState: Record<string, number> = {}
      for (const { purge } of purges)
        for (const [state, count] of countStates(purge.frozen)) byState[state] = (byState[state] ?? 0) + count
      return { count: countAll(purges), byState, until: iso(at), digest: await digestOf(purges) }
    },
  }),
  route({
    method: 'POST',
    path: PURGE,
    about: 'Deletes the letters of a preview permanently, unless the selection has changed.',
    action: 'letters.purge',
    body: purgeBody,
    answer: purged,
    async handle({ context, caller, body }) {
      const { expectedCount, until, digest, reason } = body
      // The letters frozen now are the letters deleted: letters that come later are not among them.
      const purges = await freezeAll(context, caller, body, Date.parse(until), expectedCount)
      requireCount(countAll(purges), expectedCount)
      if ((await digestOf(purges)) !== digest)
        throw new ProblemError(
          'conflict',
          `The letters that match have changed since ${until}. ${PREVIEW_AGAIN}`,
        )
      let deleted = 0
      const failed: StoreFault[] = []
      for (const { name, store, purge } of purges) {
        let here = 0
        const onProgress = async (soFar: number) => {
          here = soFar
        }
        try {
          await purgeLetters(store, purge, caller.name, { at: context.clock.now(), note: reason, onProgress })
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
      return { deleted, ...withFaults(failed) }
    },
  }),
]

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

function digestOf(purges: readonly StorePurge[]): Promise<string> {
  return digestFrozen(new Map(purges.map(({ name, purge }) => [name, purge.frozen])))
}

function requireCount(count: number, expectedCount: number): void {
  if (count === expectedCount) return
  const matching = count === 1 ? '1 letter matches' : `${count} letters match`
  throw new ProblemError('conflict', `${matching}, not ${expectedCount}. ${PREVIEW_AGAIN}`)
}

function storeDown(name: string, problem: string): ProblemError {
  return new ProblemError('unavailable', `Store ${name} does not answer (${problem}). Nothing was deleted.`)
}
