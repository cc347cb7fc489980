import { useParams } from './use-search-params.ts'

const PARAM = 'requests'
const MOST_KEPT = 5

/** The requests whose outcomes are shown, newest first. They are in the address, so a reload keeps them. */
export function useRequests() {
  const [params, setParams] = useParams()
  const ids = (params.get(PARAM) ?? '').split(',').filter(id => id !== '')
  const keep = (next: readonly string[]) =>
    setParams({ [PARAM]: next.slice(0, MOST_KEPT).join(',') }, { replace: true })
  return {
    ids,
    add: (sent: readonly string[]) => keep([...new Set([...sent, ...ids])]),
    dismiss: (id: string) => keep(ids.filter(each => each !== id)),
  }
}
