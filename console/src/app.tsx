import { Suspense, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { ApiProblem } from './api/client.ts'
import { useMe } from './api/queries.ts'
import { Screens } from './screens/screens.tsx'
import { ErrorBoundary } from './shell/error-boundary.tsx'
import { KeyHelp } from './shell/key-help.tsx'
import { Sidebar } from './shell/sidebar.tsx'
import { SignIn } from './shell/sign-in.tsx'
import { StaleNote } from './shell/stale-note.tsx'
import { Tour } from './shell/tour.tsx'
import { useKeptFocus } from './shell/use-kept-focus.ts'
import { useKeys } from './shell/use-keys.ts'
import { useLive } from './shell/use-live.ts'
import { useRowClicks } from './shell/use-row-clicks.ts'
import { OutcomePatterns } from './ui/charts.tsx'
import { ErrorNote, Loading } from './ui/notes.tsx'

export function App() {
  const me = useMe()
  const isRefused = me.error instanceof ApiProblem && me.error.status === 401
  const stream = useLive(me.data !== undefined && !isRefused)
  const [isHelp, setHelp] = useKeys()
  useKeptFocus()
  useRowClicks()
  const [path] = useLocation()
  const main = useFocusOnArrival(path)
  if (isRefused) return <SignIn />
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Sidebar me={me.data} stream={stream} />
      <main id="main" className="content" ref={main} tabIndex={-1}>
        {stream === 'lost' && <StaleNote />}
        {me.error && me.data === undefined ? (
          <ErrorNote error={me.error} onRetry={me.refetch} />
        ) : (
          <ErrorBoundary key={path} stream={stream}>
            <Suspense fallback={<Loading rows={8} />}>
              <Screens />
            </Suspense>
          </ErrorBoundary>
        )}
      </main>
      {me.data?.demo && <Tour />}
      <OutcomePatterns />
      {isHelp && <KeyHelp onClose={() => setHelp(false)} />}
    </div>
  )
}

/** A new screen takes the focus, so that the keyboard and the screen reader arrive with the eye. Filters do not. */
function useFocusOnArrival(path: string) {
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path is what it waits for
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else main.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [path])
  return main
}
