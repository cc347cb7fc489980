import { findByPath } from '../lib/route.ts'

/** The screens that come in files of their own, by the paths at which they are shown. */
export const FILES = {
  '/groups/:id': () => import('./group/group-screen.tsx'),
  '/letters': () => import('./letters/letters-screen.tsx'),
  '/letters/compare': () => import('./compare/compare-screen.tsx'),
  '/letters/:id': () => import('./letter/letter-screen.tsx'),
  '/replays': () => import('./replays/replays-screen.tsx'),
  '/replays/new': () => import('./plan/plan-screen.tsx'),
  '/replays/:id': () => import('./replay/replay-screen.tsx'),
  '/channels': () => import('./channels/channels-screen.tsx'),
  '/services': () => import('./services/services-screen.tsx'),
  '/audit': () => import('./audit/audit-screen.tsx'),
  '/settings': () => import('./settings/settings-screen.tsx'),
} as const

/** Fetches the code of the screen at this path before it renders. A failure does not matter: rendering tries again. */
export function preloadScreen(path: string): void {
  const load: (() => Promise<unknown>) | undefined = findByPath(FILES, path)?.value
  void load?.().catch(() => {})
}

export function preloadScreens(): void {
  void Promise.allSettled(Object.values(FILES).map(load => load()))
}
