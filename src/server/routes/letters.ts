import * as z from 'zod'
import { isExamined } from '../../adapter-kit/query/examined-letters.ts'
import { compareLetters, letterPosition, orderOf } from '../../adapter-kit/query/letter-order.ts'
import { letterCursor, resolveLetterFilter, splitDisclosing } from '../../adapter-kit/query/letter-query.ts'
import { masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { eventToJson } from '../../core/event/json.ts'
import { isBytes } from '../../core/event/plain.ts'
import { discardLetter, reopenLetter } from '../../operations/decide.ts'
import type { Decision } from '../../operations/decision.ts'
import { masksFor, ReplayPatches } from '../../operations/replay-patches.ts'
import type { KeyUnblocker } from '../../operations/unblock-keys.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import type { Store } from '../../ports/store.ts'
import { judge } from '../../replay/judge.ts'
import { resolvePlan } from '../../replay/plan-options.ts'
import type { Caller } from '../auth/caller.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { notFound } from '../problem.ts'
import { id, iso, type Json, storeName } from '../schema/common.ts'
import {
  type Destination,
  decidedLetter,
  letterDetail,
  letterPage,
  letterQuery,
  letterStats,
  letterStatsQuery,
  reasonBody,
  revealedLetter,
} from '../schema/letters.ts'
import { listExaminedFor, statsExaminedFor } from '../search/masked-letters.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import { statsOf } from '../stores/search-stats.ts'
import { addStats } from '../stores/stats-cache.ts'
import { auditView } from '../views/audit.ts'
import { toLetterFilter } from '../views/filter.ts'
import { letterDetailView, letterSummary, withBlockedKeys } from '../views/letter.ts'

const LETTERS = `${API}/dead-letters`
const AUDIT_SHOWN = 50
export const oneId = z.strictObject({ id: id.describe('The id of the letter, group or replay.') })
export const whichStore = z.strictObject({
  store: storeName.optional().describe('The store to use. Needed for an id that several stores have.'),
})

type Context = Pick<
  ServerContext,
  'stores' | 'searches' | 'masks' | 'clock' | 'replayDefaults' | 'environmentOf' | 'keysOf' | 'announce'
>

const route = routeFor<Context>()
export const letterRoutes = [
  route({
    method: 'GET',
    path: LETTERS,
    about: 'Lists dead letters, newest failure first, or sorted by another column.',
    query: letterQuery,
    answer: letterPage,
    async handle({ context, caller, query }) {
      const { store, limit, cursor, sort, order: direction, startAt, ...asked } = query
      const { stores, searches, masks } = context
      const start = startAt === undefined ? undefined : Date.parse(startAt)
      const page = { limit, cursor, sort, order: direction, startAt: start }
      const order = orderOf(page)
      const filter = toLetterFilter(asked)
      const isMasked = splitDisclosing(filter).isDisclosing && !searches.mayReveal(caller)
      const { found, faults } = await stores.each(async named => {
        const { deadLetters } = named.store
        if (!isMasked) await auditSearch(context, caller, named, filter)
        if (isMasked || isExamined(filter))
          return listExaminedFor(named.store, { filter, masks, isMasked }, page)
        const listed = await deadLetters.list({ ...filter, ...page })
        const last = listed.cursor === undefined ? undefined : listed.letters.at(-1)
        return {
          letters: listed.letters,
          lookedUntil: last && letterPosition(last, order),
          examined: undefined,
        }
      }, store)
      // All stores sort letters the same way, so one position continues the listing in all of them. Letters after the
      // smallest position that a store was read up to wait for the next page: a store may have unread letters before them.
      const [until] = found
        .flatMap(({ value }) => value.lookedUntil ?? [])
        .sort((a, b) => compareLetters(a, b, order))
      const merged = found
        .flatMap(({ name, store: { replays }, value }) => {
          const patches = new ReplayPatches(replays, masks)
          return value.letters.map(letter => ({
            name,
            letter,
            patches,
            place: letterPosition(letter, order),
          }))
        })
        .filter(({ place }) => until === undefined || compareLetters(place, until, order) <= 0)
        .sort((a, b) => compareLetters(a.place, b.place, order))
      // A letter that several stores have is in one place. The page takes all of it, because the next one begins behind the place.
      const last = merged[limit - 1]?.place
      const shown = merged.filter(
        ({ place }, index) => index < limit || compareLetters(place, last!, order) === 0,
      )
      const next = merged.length > shown.length ? shown.at(-1)!.place : until
      return {
        letters: await Promise.all(
          shown.map(async ({ name, letter, patches }) => {
            await patches.read([letter])
            return letterSummary(name, letter, patches.masks)
          }),
        ),
        cursor: next && letterCursor(next, resolveLetterFilter(filter), order),
        ...examinedOf(found.map(({ value }) => value.examined)),
        ...withFaults(faults),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${LETTERS}/stats`,
    about: 'Counts dead letters by state, reason and channel.',
    query: letterStatsQuery,
    answer: letterStats,
    async handle({ context, caller, query: { store, ...asked } }) {
      const filter = toLetterFilter(asked)
      const { masks } = context
      const isMasked = splitDisclosing(filter).isDisclosing && !context.searches.mayReveal(caller)
      const { found, faults } = await context.stores.each(async named => {
        const { deadLetters } = named.store
        if (!isMasked) await auditSearch(context, caller, named, filter)
        if (isMasked || isExamined(filter)) return statsExaminedFor(named.store, { filter, masks, isMasked })
        return statsOf(deadLetters, filter)
      }, store)
      return { ...addStats(found.map(({ value }) => value)), ...withFaults(faults) }
    },
  }),
  route({
    method: 'GET',
    path: `${LETTERS}/:id`,
    about: 'Returns one letter, masked: event, attempts, cycles, replay target and audit entries.',
    params: oneId,
    query: whichStore,
    answer: letterDetail,
    async handle({ context, caller, params, query }) {
      const found = await findLetter(context, params.id, query.store)
      const { name, store, value: letter } = found
      const audit = await store.audit.list({ target: letter.id, limit: AUDIT_SHOWN })
      return {
        ...letterDetailView(name, letter, await masksFor(store, [letter], context.masks)),
        destination: await destinationOf(context, found, letter),
        audit: audit.entries.map(entry => auditView(name, entry, context.searches.mayReveal(caller))),
      }
    },
  }),
  route({
    method: 'POST',
    path: `${LETTERS}/:id/reveal`,
    about: 'Returns payload, headers and key without masks. The audit log records it first.',
    action: 'letter.reveal',
    params: oneId,
    query: whichStore,
    body: reasonBody,
    answer: revealedLetter,
    async handle({ context, caller, params, query, body: { reason } }) {
      const { name, store, value: letter } = await findLetter(context, params.id, query.store)
      const at = context.clock.now()
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
  decisionRoute(
    'discard',
    'Discards a letter whose event need not be handled. The letter stays visible. Events of the same key that wait for it continue.',
    (store, letter, decision, keys) => discardLetter(store, letter.id, decision, keys),
  ),
  decisionRoute(
    'reopen',
    'Sets a parked, quarantined or discarded letter, or one that an ended replay left in replaying, back to dead so that it can be replayed.',
    reopenLetter,
  ),
]

/** Records a search of unmasked text in the audit log. */
export async function auditSearch(
  { searches }: Pick<Context, 'searches'>,
  caller: Caller,
  named: NamedStore,
  filter: LetterFilter,
): Promise<void> {
  const { isDisclosing, disclosing } = splitDisclosing(filter)
  if (isDisclosing) await searches.audit(named, caller, 'letters.search', { ...disclosing })
}

/** How many letters were read for a page, if any store had to read letters one by one. */
function examinedOf(counts: readonly (number | undefined)[]): { readonly examined?: number } {
  const known = counts.filter(each => each !== undefined)
  return known.length === 0 ? {} : { examined: known.reduce((sum, each) => sum + each, 0) }
}

export function findLetter({ stores }: Pick<Context, 'stores'>, letterId: string, store?: string) {
  return stores.find('dead letter', letterId, named => named.store.deadLetters.get(letterId), store)
}

async function destinationOf(context: Context, named: NamedStore, letter: DeadLetter): Promise<Destination> {
  const asked = resolvePlan({ ...context.replayDefaults, reason: 'a look', by: 'nobody', ids: [letter.id] })
  const environment = context.environmentOf(named)
  const { reason } = await judge(letter, asked, environment, context.clock.now())
  const replayRoute = await environment.routeOf?.(letter, undefined)
  const obstacle = replayRoute?.kind === 'none' ? replayRoute.reason : reason
  const isReachable = replayRoute !== undefined && replayRoute.kind !== 'none'
  return {
    channel: letter.channel,
    handler: letter.handler,
    broker: isReachable ? replayRoute.via : undefined,
    obstacle: obstacle && masksOfLetter(letter, context.masks).maskText(obstacle),
  }
}

/** A route that changes the state of one letter, with a reason. */
function decisionRoute(
  verb: 'discard' | 'reopen',
  about: string,
  decide: (
    store: Store,
    letter: DeadLetter,
    decision: Decision,
    keys: KeyUnblocker,
  ) => Promise<DeadLetter | undefined>,
) {
  return route({
    method: 'POST',
    path: `${LETTERS}/:id/${verb}`,
    about,
    action: `letter.${verb}`,
    params: oneId,
    query: whichStore,
    body: reasonBody,
    answer: decidedLetter,
    async handle({ context, caller, params, query, body }) {
      const { value: letter, name, store } = await findLetter(context, params.id, query.store)
      const decision = { by: caller.name, at: context.clock.now(), note: body.reason }
      const keys = context.keysOf({ store })
      const changed = await decide(store, letter, decision, keys)
      if (changed === undefined) throw notFound('dead letter', params.id)
      context.announce('letters', 'groups')
      return {
        ...letterSummary(name, changed, await masksFor(store, [changed], context.masks)),
        ...withBlockedKeys([keys]),
      }
    },
  })
}
