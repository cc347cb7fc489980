import type { AlertKind, AlertMessage } from '../../core/alert/alert.ts'
import type { AlertLink } from '../../core/alert/document.ts'

/** The channel of the events that carry alerts, and of the letters of undelivered alerts. */
export const ALERT_CHANNEL = 'lazaret.alerts'

interface LinkSources {
  /** The address of the console, without a final slash. */
  readonly consoleUrl: string | undefined
  readonly runbooks: { readonly [K in AlertKind]?: string | undefined }
}

/** The links of an alert. The most specific page of the console comes first. */
export function linksOf({ kind, facts }: AlertMessage, sources: LinkSources): readonly AlertLink[] {
  const { consoleUrl, runbooks } = sources
  const places = consoleUrl === undefined ? [] : placesOf(kind, facts)
  const links = places.map(([text, path]) => ({ text, href: `${consoleUrl}${path}` }))
  const runbook = runbooks[kind]
  return runbook === undefined ? links : [...links, { text: 'Runbook', href: runbook }]
}

function placesOf(kind: AlertKind, facts: AlertMessage['facts']): [text: string, path: string][] {
  const { failed, group, channel, replay, target } = facts
  const places: [string, string][] = []
  if (failed !== undefined) places.push(['Letter', `/letters/${encodeURIComponent(failed.letterId)}`])
  if (group !== undefined) places.push(['Group', `/groups/${encodeURIComponent(group)}`])
  if (replay !== undefined) places.push(['Replay', `/replays/${encodeURIComponent(replay)}`])
  if (channel !== undefined) places.push(['Channel', `/letters?channel=${encodeURIComponent(channel)}`])
  if (kind === 'breaker_opened') places.push(['Channels', '/channels'])
  if (kind === 'letters_spilled') places.push(['Stores', '/settings'])
  if (target !== undefined) places.push(['Undelivered', `/letters?channel=${ALERT_CHANNEL}`])
  if (kind === 'digest') places.push(['Groups', '/groups?state=open'])
  return places
}
