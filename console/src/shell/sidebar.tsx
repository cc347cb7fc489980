import { Link, useLocation } from 'wouter'
import { useOverview, useViews } from '../api/queries.ts'
import type { StreamState } from '../api/stream.ts'
import type { Me } from '../api/types.ts'
import { PLACES } from '../lib/keys.ts'
import { defaultLettersUrl } from '../lib/letter-filters.ts'
import { short } from '../lib/numbers.ts'
import { SignOut } from './sign-out.tsx'
import { DisplaySwitches } from './switches.tsx'
import './sidebar.css'

const STREAM: Readonly<Record<StreamState, string>> = {
  live: 'Live',
  connecting: 'Connecting',
  lost: 'Server unreachable, retrying',
}

export function Sidebar({ me, stream }: { me: Me | undefined; stream: StreamState }) {
  const [location] = useLocation()
  const { data } = useOverview()
  const letters = defaultLettersUrl(useViews().data?.views ?? [])
  const badges: Readonly<Record<string, { count: number; what: string; loud: boolean } | undefined>> = data
    ? {
        g: {
          count: data.groups.waiting,
          what: 'open with waiting letters',
          loud: data.groups.regressed > 0 || data.groups.new24h > 0,
        },
        l: { count: data.letters.waiting, what: 'waiting', loud: false },
        r: { count: data.replays.running, what: 'running', loud: false },
        f: { count: data.fleet.gone, what: 'gone', loud: data.fleet.gone > 0 },
        c: { count: data.breakers.open, what: 'breakers open', loud: data.breakers.open > 0 },
      }
    : {}
  return (
    <aside className="sidebar">
      <Link href="/groups" className="brand" aria-label="Lazaret: go to groups">
        <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
          <path d="M9 5v21" className="mast" />
          <path d="M10.4 6.4h14v10.2h-14z" className="flag" />
          <path
            d="M3.5 27.4c2.5 0 2.5-1.6 5-1.6s2.5 1.6 5 1.6 2.5-1.6 5-1.6 2.5 1.6 5 1.6 2.5-1.6 5-1.6"
            className="water"
          />
        </svg>
        <span>Lazaret</span>
      </Link>
      <nav aria-label="Screens">
        {Object.entries(PLACES).map(([key, { href, name }]) => (
          <Link
            key={key}
            href={key === 'l' ? letters : href}
            aria-current={location.startsWith(href) ? 'page' : undefined}
          >
            <span>{name}</span>
            <Badge badge={badges[key]} />
          </Link>
        ))}
      </nav>
      <svg
        className="waterline"
        width="188"
        height="34"
        viewBox="0 0 188 34"
        aria-hidden="true"
        focusable="false"
      >
        <path d={wave(10)} />
        <path d={wave(18)} />
        <path d={wave(26)} />
      </svg>
      <div className="sidebar-foot">
        <p className={`stream ${stream}`} role="status">
          <span className="dot" aria-hidden="true" />
          {STREAM[stream]}
        </p>
        <DisplaySwitches />
        {me && (
          <div className="who">
            <p className="external-text">
              {me.name} · {me.role}
              {me.readOnly && ' · read-only'}
            </p>
            <SignOut me={me} />
          </div>
        )}
      </div>
    </aside>
  )
}

/** A line of water at this height; each row is set off against the one above. */
function wave(y: number): string {
  const start = y % 16 === 2 ? -12 : 0
  return `M${start} ${y}c6 0 6-4 12-4s6 4 12 4${'s6-4 12-4s6 4 12 4'.repeat(8)}`
}

function Badge({ badge }: { badge: { count: number; what: string; loud: boolean } | undefined }) {
  if (badge === undefined || badge.count === 0) return null
  return (
    <span className={badge.loud ? 'badge loud' : 'badge'} title={`${badge.count} ${badge.what}`}>
      {short(badge.count)}
      <span className="unseen"> {badge.what}</span>
    </span>
  )
}
