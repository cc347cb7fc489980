import { BASE_PATH } from '../lib/base-path.ts'

// The token lives as long as the tab: never in a URL, never in storage that outlives the person at the screen.
// Other servers may have other paths of the same host, and do not get it.
const KEY = `lazaret.token${BASE_PATH}`

export function readToken(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined
  } catch {
    return undefined
  }
}

export function keepToken(token: string | undefined): void {
  try {
    if (token === undefined || token === '') sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, token)
  } catch {
    // Without storage the token cannot be kept; the next call will be refused and say so.
  }
}
