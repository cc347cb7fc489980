import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Overview } from '../../api/types.ts'
import { change, percent, short, whole } from '../../lib/numbers.ts'
import { Sparkline } from '../../ui/charts.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import './board.css'

/** The harbour board: eight readings, each leading to where it can be dealt with. */
export function Board({ overview }: { overview: Overview }) {
  const { groups, letters, inflow, breakers, consumers, replays, expiring48h, stores } = overview
  const trend = change(inflow.lastHour, inflow.hourBefore)
  const up = stores.filter(store => store.up).length
  return (
    <ul className="board">
      <Reading
        name="Open groups"
        value={whole(groups.open)}
        href="/groups?state=open"
        isLoud={groups.regressed > 0}
      >
        {whole(groups.new24h)} new in 24 h · {whole(groups.regressed)} regressed
      </Reading>
      <Reading name="Letters waiting" value={short(letters.waiting)} href="/letters?state=dead">
        {letters.oldestAt ? <RelativeTime at={letters.oldestAt} prefix="Oldest failed " /> : 'None waiting'}
      </Reading>
      <Reading
        name="Inflow, last hour"
        value={short(inflow.lastHour)}
        href="/letters?after=1h"
        picture={<Sparkline counts={inflow.perMinute} unit="minute" width={220} height={34} />}
      >
        {whole(inflow.hourBefore)} in the previous hour
        {trend && inflow.hourBefore > 0 ? ` · ${trend.text}` : ''}
      </Reading>
      <Reading name="Replays running" value={whole(replays.running)} href="/replays?state=running">
        {replays.ended === 0
          ? replays.running === 0
            ? 'None running'
            : 'No outcomes yet'
          : `${percent(replays.recovered / replays.ended)} of ${whole(replays.ended)} recovered`}
      </Reading>
      <Reading name="Breakers open" value={whole(breakers.open)} href="/channels" isLoud={breakers.open > 0}>
        of {whole(breakers.total)}
      </Reading>
      <Reading
        name="Consumers paused"
        value={whole(consumers.paused)}
        href="/channels"
        isLoud={consumers.paused > 0}
      >
        of {whole(consumers.total)}
      </Reading>
      <Reading
        name="Expire within 48 h"
        value={expiring48h === undefined ? '–' : short(expiring48h)}
        href="/letters"
        isLoud={(expiring48h ?? 0) > 0}
      >
        {expiring48h === undefined ? 'No expiry' : 'Waiting letters that may be deleted'}
      </Reading>
      <Reading name="Stores up" value={whole(up)} href="/settings" isLoud={up < stores.length}>
        of {whole(stores.length)}
      </Reading>
    </ul>
  )
}

function Reading({
  name,
  value,
  href,
  isLoud = false,
  picture,
  children,
}: {
  name: string
  value: string
  href: string
  isLoud?: boolean
  picture?: ReactNode
  children: ReactNode
}) {
  return (
    <li className={isLoud ? 'reading loud' : 'reading'}>
      <Link href={href} className="reading-name">
        {name}
      </Link>
      <div className="reading-value">
        <span>{value}</span>
        {picture}
      </div>
      <div className="quiet small">{children}</div>
    </li>
  )
}
