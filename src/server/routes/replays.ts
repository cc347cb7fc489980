import { ProblemError } from '../http/problem.ts'
import { API, route } from '../http/route.ts'
import type { Room } from '../room.ts'
import {
  findings as findingsSchema,
  itemPage,
  itemQuery,
  type ReplayDecision,
  replayList,
  replayQuery,
  replay as replaySchema,
} from '../schema/replays.ts'
import { partly } from '../stores/federation.ts'
import { itemView, replaySummary } from '../views/replay.ts'
import { oneId } from './letters.ts'
import { replayStory } from './replay-story.ts'
import { mostGiven, whyTeller } from './replay-whys.ts'

const REPLAYS = `${API}/replays`
const SKIPPED_LOOKED_AT = 1_000
const SAMPLES_SHOWN = 5

export const replayRoutes = [
  route({
    method: 'GET',
    path: REPLAYS,
    about: 'The replays there are, newest first.',
    query: replayQuery,
    answer: replayList,
    async handle({ room, query: { state, limit, store } }) {
      const gathered = await room.stores.each(async named => {
        const replays = await named.store.replays.list({ state, limit })
        return Promise.all(
          replays.map(async replay => ({ replay, counts: await named.store.replays.counts(replay.id) })),
        )
      }, store)
      const replays = gathered.found
        .flatMap(({ name, value }) => value.map(({ replay, counts }) => replaySummary(name, replay, counts)))
        .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
      return { replays: replays.slice(0, limit), ...partly(gathered.faults) }
    },
  }),
  route({
    method: 'GET',
    path: `${REPLAYS}/:id`,
    about: 'A replay: what was planned, what has come of it, what may be done with it.',
    params: oneId,
    answer: replaySchema,
    async handle({ room, caller, params }) {
      const { value, ...named } = await findReplay(room, params.id)
      if (!room.settings.readOnly) await room.runner.gatherLate(named, value)
      return replayStory(room, caller, named, value)
    },
  }),
  route({
    method: 'GET',
    path: `${REPLAYS}/:id/items`,
    about: 'Its letters in the order of sending, and where each stands.',
    params: oneId,
    query: itemQuery,
    answer: itemPage,
    async handle({ room, params, query: { status, after, limit } }) {
      const { value, ...named } = await findReplay(room, params.id)
      const items = await named.store.replays.items(value.id, { status, after, limit: limit + 1 })
      const page = items.slice(0, limit)
      const tell = whyTeller(room, named, value)
      return {
        items: await Promise.all(page.map(async item => itemView(item, await tell(item)))),
        after: items.length > limit ? page.at(-1)?.position : undefined,
      }
    },
  }),
  route({
    method: 'GET',
    path: `${REPLAYS}/:id/findings`,
    about: 'What the gates decided, with the reasons given most.',
    params: oneId,
    answer: findingsSchema,
    async handle({ room, params }) {
      const { value: replay, ...named } = await findReplay(room, params.id)
      const { store } = named
      const tell = whyTeller(room, named, replay)
      const skipped = await store.replays.items(replay.id, { status: 'skipped', limit: SKIPPED_LOOKED_AT })
      const going = await store.replays.items(replay.id, { limit: SKIPPED_LOOKED_AT })
      const findings = Object.entries(replay.findings).map(async ([name, count]) => {
        const decision = name as ReplayDecision
        const from = decision === 'replay' ? going : skipped
        const letters = from.filter(item => item.decision === decision)
        return {
          decision,
          count,
          whys: await mostGiven(letters, tell),
          sampleLetterIds: letters.slice(0, SAMPLES_SHOWN).map(({ letterId }) => letterId),
        }
      })
      return { findings: await Promise.all(findings), sampled: skipped.length }
    },
  }),
]

export function findReplay(room: Room, id: string) {
  return room.stores.find('replay', id, ({ store }) => store.replays.get(id))
}

/** The store to plan in: the one that is named, or the only one there is. */
export function onlyStore(room: Room, name: string | undefined, why: string) {
  const chosen = room.stores.chosen(name)
  const [only] = chosen
  if (only !== undefined && chosen.length === 1) return only
  const names = chosen.map(each => each.name).join(', ')
  throw new ProblemError('unprocessable', `${why}: name the store, which is one of ${names}.`)
}
