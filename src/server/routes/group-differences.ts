import { SEPARATION_MIN_LETTERS } from '../../core/dead-letter/separating-fields.ts'
import { readGroupDifferences } from '../../operations/group-differences.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { groupDifferences } from '../schema/group-differences.ts'
import { findGroup } from './groups.ts'
import { oneId, whichStore } from './letters.ts'

export const groupDifferenceRoutes = [
  routeFor<Pick<ServerContext, 'stores' | 'masks'>>()({
    method: 'GET',
    path: `${API}/groups/:id/differences`,
    about:
      'Returns what differs between the failed and the recovered letters of a group: the fields of payload, headers and metadata whose value separates them best.',
    params: oneId,
    query: whichStore,
    answer: groupDifferences,
    async handle({ context: { stores, masks }, params, query }) {
      const { value: group, store } = await findGroup({ stores }, params.id, query.store)
      const { fields, ...rest } = await readGroupDifferences(store, group.id, masks)
      return { ...rest, needed: SEPARATION_MIN_LETTERS, fields: fields.map(each => ({ ...each })) }
    },
  }),
]
