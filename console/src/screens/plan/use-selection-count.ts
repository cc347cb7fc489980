import { useLetterStats } from '../../api/queries.ts'
import type { PlanSelection } from '../../lib/plan-form.ts'

/** How many letters the selection holds as of now; undefined while they are counted. */
export function useSelectionCount(selection: PlanSelection, store: string): number | undefined {
  const isByIds = 'ids' in selection
  const query = isByIds ? {} : { ...selection.filter, ...(store === '' ? {} : { store }) }
  const { data } = useLetterStats(query, !isByIds)
  return isByIds ? selection.ids.length : data?.count
}
