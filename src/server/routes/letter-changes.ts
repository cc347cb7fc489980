import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { eventToJson } from '../../core/event/json.ts'
import { isBytes } from '../../core/event/plain.ts'
import { discardLetter, reopenLetter } from '../../operations/decide.ts'
import { notFound } from '../http/problem.ts'
import { API, type Asked, route } from '../http/route.ts'
import type { Json } from '../schema/common.ts'
import {
  letterSummary as letterSummarySchema,
  type ReasonBody,
  reasonBody,
  revealedLetter,
} from '../schema/letters.ts'
import type { NamedStore } from '../stores/federation.ts'
import { letterSummary } from '../views/letter.ts'
import { iso } from '../views/times.ts'
import { announce } from './announce.ts'
import { findLetter, oneId, whichStore } from './letters.ts'

const LETTER = `${API}/dead-letters/:id`

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
]

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
