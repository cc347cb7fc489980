import { usePreference, zone } from '../lib/preferences.ts'
import { absolute, relative, timeOfDay } from '../lib/times.ts'
import { useNow } from '../lib/use-now.ts'

/** How long ago; the moment itself is one hover or one screen reader away. */
export function RelativeTime({ at, prefix = '' }: { at: string; prefix?: string }) {
  const now = useNow()
  const chosen = usePreference(zone)
  return (
    <time dateTime={at} title={absolute(Date.parse(at), chosen)} className="nowrap">
      {prefix}
      {relative(Date.parse(at), now)}
    </time>
  )
}

/** The moment, and how long ago that is. */
export function Timestamp({ at, precise = false }: { at: string; precise?: boolean }) {
  const now = useNow()
  const chosen = usePreference(zone)
  const ms = Date.parse(at)
  return (
    <time dateTime={at}>
      <span className="nowrap">{absolute(ms, chosen, precise)},</span>{' '}
      <span className="quiet nowrap">{relative(ms, now)}</span>
    </time>
  )
}

/** A row of a log: the moment alone. */
export function LogTime({ at }: { at: string }) {
  const now = useNow()
  const chosen = usePreference(zone)
  const ms = Date.parse(at)
  return (
    <time dateTime={at} title={relative(ms, now)} className="nowrap mono small">
      {absolute(ms, chosen)}
    </time>
  )
}

export function ClockTime({ at }: { at: string }) {
  const chosen = usePreference(zone)
  return (
    <time dateTime={at} title={absolute(Date.parse(at), chosen, true)} className="nowrap mono small">
      {timeOfDay(Date.parse(at), chosen)}
    </time>
  )
}
