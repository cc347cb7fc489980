import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { eventToJson } from '../../core/event/json.ts'
import { isBytes } from '../../core/event/plain.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import { discardLetter, reopenLetter } from '../../operations/decide.ts'
import {
  failedUntil,
  freezePurge,
  type Purge,
  type PurgeRequest,
  purgeLetters,
} from '../../operations/purge.ts'
import { notFound, ProblemError } from '../http/problem.ts'
import { API, type Asked, route } from '../http/route.ts'
import type { Json, StoreFault } from '../schema/common.ts'
import {
  letterSummary as letterSummarySchema,
  purgeBody,
  purged,
  type ReasonBody,
  reasonBody,
  revealedLetter,
} from '../schema/letters.ts'
import { type NamedStore, partly } from '../stores/federation.ts'
import { filterInside } from '../views/filter.ts'
import { letterSummary } from '../views/letter.ts'
import { iso } from '../views/times.ts'
import { announce } from './announce.ts'
import { findLetter, oneId, whichStore } from './letters.ts'

const LETTER = `${API}/dead-letters/:id`
/** More would keep a request waiting for minutes. */
const MOST_PURGED = 100_000

type AskedWhy = Asked<{ id: string }, { store?: string | undefined }, ReasonBody>

export const letterChangeRoutes = [
  route({
    method: 'POST',
    path: `${LETTER}/reveal`,
    about: 'The payload, headers and key unmasked. It is in the audit before it is in the answer.',
    action: 'letter.reveal',
    params: oneId,
    query: whichStore,
    body: reasonBody,
    answer: revealedLetter,
    async handle({ room, caller, params, query, body: { reason } }) {
      const { name, store, value: letter } = await findLetter(room, params.id, query.store)
      const at = room.clock.now()
      const entry = { at, by: caller.name, action: 'payload.reveal', target: letter.id, detail: { reason } }
      await store.audit.append(entry)
      const { headers, key, payload, payloadBase64 } = eventToJson(letter.event)
      return {
        id: letter.id,
        store: name,
        revealedBy: caller.name,
        revealedAt: iso(at),
        headers: { ...headers },
        key,
        ...(isBytes(letter.event.payload) ? { payloadBase64 } : { payload: payload as Json }),
      }
    },
  }),
  route({
    method: 'POST',
    path: `${LETTER}/discard`,
    about: 'Decides that its event need not be handled. The letter stays to be seen.',
    action: 'letter.discard',
    params: oneId,
    query: whichStore,
    body: reasonBody,
    answer: letterSummarySchema,
    handle: asked =>
      decide(asked, ({ store }, letter, decision) => discardLetter(store, letter.id, decision)),
  }),
  route({
    method: 'POST',
    path: `${LETTER}/reopen`,
    about:
      'Makes a parked, quarantined or discarded letter dead again, or one that a replay left behind, so that it can be replayed.',
    action: 'letter.reopen',
    params: oneId,
    query: whichStore,
    body: reasonBody,
    answer: letterSummarySchema,
    handle: asked => decide(asked, ({ store }, letter, decision) => reopenLetter(store, letter, decision)),
  }),
  route({
    method: 'POST',
    path: `${API}/dead-letters/purge`,
    about: 'Deletes letters for good, if there are as many as expected.',
    action: 'letters.purge',
    body: purgeBody,
    answer: purged,
    async handle({ room, caller, body }) {
      const { expectedCount, reason } = body
      // What is counted now is what is deleted: letters that come later are not among them.
      const request = { filter: filterInside(body.filter), isExpiredOnly: false, at: room.clock.now() }
      const { found, faults } = await room.stores.each(
        ({ store }) => store.deadLetters.stats(failedUntil(request)),
        body.store,
      )
      const [down] = faults
      if (down !== undefined)
        throw new ProblemError(
          'unavailable',
          `${down.store} does not answer (${down.problem}); nothing was deleted.`,
        )
      const count = found.reduce((sum, { value }) => sum + value.count, 0)
      requireCount(count, expectedCount)
      if (count > MOST_PURGED)
        throw new ProblemError('unprocessable', `That is more than ${MOST_PURGED}; use lazaret dlq purge.`)
      const purges = await freezeAll(found, request)
      requireCount(
        purges.reduce((sum, { purge }) => sum + purge.frozen.letters.size, 0),
        expectedCount,
      )
      let deleted = 0
      const failed: StoreFault[] = []
      for (const { name, store, purge } of purges) {
        let here = 0
        const onProgress = async (soFar: number) => {
          here = soFar
        }
        try {
          await purgeLetters(store, purge, caller.name, { note: reason, onProgress })
        } catch (error) {
          failed.push({ store: name, problem: withoutCredentials((error as Error).message) })
        }
        deleted += here
      }
      announce(room, 'letters', 'groups')
      const [first] = failed
      if (first !== undefined && deleted === 0)
        throw new ProblemError(
          'unavailable',
          `${first.store} did not delete them (${first.problem}); count again before the next try.`,
        )
      return { deleted, ...partly(failed) }
    },
  }),
]

function requireCount(count: number, expectedCount: number): void {
  if (count !== expectedCount)
    throw new ProblemError('conflict', `${count} letters match, not ${expectedCount}; look again first.`)
}

async function freezeAll(
  stores: readonly NamedStore[],
  request: PurgeRequest,
): Promise<readonly (NamedStore & { readonly purge: Purge })[]> {
  const purges: (NamedStore & { readonly purge: Purge })[] = []
  for (const { name, store } of stores)
    try {
      purges.push({ name, store, purge: await freezePurge(store, request) })
    } catch (error) {
      const problem = withoutCredentials((error as Error).message)
      throw new ProblemError('unavailable', `${name} does not answer (${problem}); nothing was deleted.`)
    }
  return purges
}

async function decide(
  { room, caller, params, query, body }: AskedWhy,
  act: (
    named: NamedStore,
    letter: DeadLetter,
    decision: { readonly by: string; readonly at: number; readonly note: string },
  ) => Promise<DeadLetter | undefined>,
) {
  const { value: letter, ...named } = await findLetter(room, params.id, query.store)
  const changed = await act(named, letter, { by: caller.name, at: room.clock.now(), note: body.reason })
  if (changed === undefined) throw notFound('dead letter', params.id)
  announce(room, 'letters', 'groups')
  return letterSummary(named.name, changed, room.masks)
}
