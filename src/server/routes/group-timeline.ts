import { readGroupTimeline } from '../../operations/group-timeline.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { iso } from '../schema/common.ts'
import { groupTimeline } from '../schema/group-timeline.ts'
import { findGroup } from './groups.ts'
import { oneId, whichStore } from './letters.ts'

type Context = Pick<ServerContext, 'stores' | 'fleet' | 'masks' | 'clock'>

export const groupTimelineRoutes = [
  routeFor<Context>()({
    method: 'GET',
    path: `${API}/groups/:id/timeline`,
    about:
      'Returns the letters of a group over time since its first failure, the releases that began in this time, and the release with which the group began where the data says so.',
    params: oneId,
    query: whichStore,
    answer: groupTimeline,
    async handle({ context: { stores, fleet, masks, clock }, params, query }) {
      const { value: group, store } = await findGroup({ stores }, params.id, query.store)
      const reports = (await fleet.instances()).map(({ report }) => report)
      const { from, releases, ...rest } = await readGroupTimeline(
        store.deadLetters,
        group,
        reports,
        masks,
        clock.now(),
      )
      return {
        ...rest,
        counts: [...rest.counts],
        from: iso(from),
        releases: releases.map(mark => ({ ...mark, at: iso(mark.at) })),
      }
    },
  }),
]
