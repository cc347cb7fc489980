import {
  deleteView,
  isDisclosingView,
  listViews,
  type SavedView,
  saveView,
} from '../../operations/saved-views.ts'
import type { Caller } from '../auth/caller.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { notFound } from '../problem.ts'
import { savedView, type SavedView as ViewJson, viewBody, viewDeleteBody, viewList } from '../schema/views.ts'
import { withFaults } from '../stores/federation.ts'

type Context = Pick<ServerContext, 'stores' | 'searches' | 'clock'>

const route = routeFor<Context>()
const VIEWS = `${API}/views`

/** Views are kept in the first store of the server, and found in all: a server with other stores may have saved them. */
export const viewRoutes = [
  route({
    method: 'GET',
    path: VIEWS,
    about: 'Lists the saved views of letters: your own and the shared ones.',
    answer: viewList,
    async handle({ context, caller }) {
      const { found, faults } = await context.stores.each(({ store }) => listViews(store.audit, caller.name))
      return {
        views: found.flatMap(({ value }) =>
          value.filter(view => maySee(context, caller, view)).map(viewJson),
        ),
        ...withFaults(faults),
      }
    },
  }),
  route({
    method: 'POST',
    path: VIEWS,
    about: 'Saves a view of letters, in place of one with the same name.',
    action: 'view.save',
    body: viewBody,
    answer: savedView,
    async handle({ context, caller, body }) {
      const { name, shared, filter } = body
      const texts = Object.entries(filter).filter((pair): pair is [string, string] => pair[1] !== undefined)
      const view: SavedView = {
        name,
        isShared: shared,
        isDefault: body.default,
        by: caller.name,
        filter: Object.fromEntries(texts),
      }
      await saveView(context.stores.all[0]!.store.audit, view, context.clock.now())
      return viewJson(view)
    },
  }),
  route({
    method: 'POST',
    path: `${VIEWS}/delete`,
    about: 'Deletes a saved view of letters.',
    action: 'view.save',
    body: viewDeleteBody,
    answer: viewDeleteBody,
    async handle({ context, caller, body: { name, shared } }) {
      const view = { name, isShared: shared, by: caller.name }
      const deleting = await context.stores.each(({ store }) =>
        deleteView(store.audit, view, context.clock.now()),
      )
      if (!deleting.found.some(({ value }) => value)) throw notFound('view', name)
      return { name, shared }
    },
  }),
]

/** A text in a view of another person may be a masked value. */
function maySee({ searches }: Context, caller: Caller, view: SavedView): boolean {
  return view.by === caller.name || !isDisclosingView(view) || searches.mayReveal(caller)
}

function viewJson({ name, isShared, isDefault, by, filter }: SavedView): ViewJson {
  return { name, shared: isShared, default: isDefault, by, filter: { ...filter } }
}
