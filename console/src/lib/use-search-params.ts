import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'

type Change = Readonly<Record<string, string | undefined>>

/**
 * What the URL asks for, and a way to change a filter of it, which returns to the first page. Filters live there, so that they
 * can be sent around. Each change has its place in the browser's history, so that Back undoes it; but while a person types on,
 * the text replaces the one before.
 */
export function useParams(): readonly [
  URLSearchParams,
  (change: Change, how?: { replace: boolean }) => void,
] {
  const search = useSearch()
  const [path, navigate] = useLocation()
  const set = useCallback(
    (change: Change, how?: { replace: boolean }) => {
      const typesOn = !!change['search'] && new URLSearchParams(search).has('search')
      navigate(urlWith(path, search, { ...change, cursor: undefined }), how ?? { replace: typesOn })
    },
    [path, search, navigate],
  )
  return [new URLSearchParams(search), set]
}

/** The same address with some of its parameters changed; undefined or nothing takes one away. */
export function urlWith(path: string, search: string, change: Change): string {
  const params = new URLSearchParams(search)
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || value === '') params.delete(name)
    else params.set(name, value)
  }
  const text = params.toString()
  return text === '' ? path : `${path}?${text}`
}
