import { BASE_PATH } from '../lib/base-path.ts'
import { now } from '../lib/browser-clock.ts'
import { keepToken, readToken } from './token.ts'
import type { SignInKind } from './types.ts'

const ACTIVE_FOR_MS = 60_000
const ACTIVITIES = ['keydown', 'pointerdown', 'wheel'] as const
/** Opening the console is something that a person does. */
let lastActivityAt = now()
for (const activity of ACTIVITIES)
  globalThis.addEventListener?.(activity, () => (lastActivityAt = now()), { capture: true, passive: true })

/**
 * What every request carries: the token of the tab, if there is one, and the proof that a page of the server sent it. The
 * proof also says whether a person is there, because what the console asks for by itself must not keep a session alive.
 */
export function identityHeaders(): Record<string, string> {
  const token = readToken()
  const isActive = now() - lastActivityAt < ACTIVE_FOR_MS
  return {
    'x-lazaret-console': isActive ? 'active' : 'idle',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
}

/** Ends the session, or forgets the token of the tab. The browser loads the page again, so nothing of the person stays on it. */
export async function signOut(kind: SignInKind): Promise<void> {
  if (kind === 'token') {
    keepToken(undefined)
    location.assign(`${BASE_PATH}/`)
    return
  }
  const response = await fetch(`${BASE_PATH}/auth/sign-out`, { method: 'POST', headers: identityHeaders() })
  const { url = `${BASE_PATH}/` } = response.ok ? ((await response.json()) as { url?: string }) : {}
  location.assign(url)
}
