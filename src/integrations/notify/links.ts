import type { AlertKind, AlertMessage } from '../../core/alert/alert.ts'
import type { AlertLink } from '../../core/alert/document.ts'

/** Of the events that carry alerts, and so of the letters of those that could not be delivered. */
export const ALERT_CHANNEL = 'lazaret.alerts'

interface LinkSources {
  /** Where the console is, without a slash at its end. */
  readonly consoleUrl: string | undefined
  readonly runbooks: { readonly [K in AlertKind]?: string | undefined }
}

/** Where a person goes from an alert: the narrowest place of the console first. */
export function linksOf({ kind, facts }: AlertMessage, sources: LinkSources): readonly AlertLink[] {
  const { consoleUrl, runbooks } = sources
  const places = consoleUrl === undefined ? [] : placesOf(kind, facts)
  const links = places.map(([text, path]) => ({ text, href: `${consoleUrl}${path}` }))
  const runbook = runbooks[kind]
  return runbook === undefined ? links : [...links, { text: 'Runbook', href: runbook }]
}

function placesOf(kind: AlertKind, facts: AlertMessage['facts']): [text: string, path: string][] {
  const { failed, group, channel, target } = facts
  const places: [string, string][] = []
  if (failed !== undefined) places.push(['Letter', `/letters/${encodeURIComponent(failed.letterId)}`])
  if (group !== undefined) places.push(['Group', `/groups/${encodeURIComponent(group)}`])
  if (channel !== undefined) places.push(['Channel', `/letters?channel=${encodeURIComponent(channel)}`])
  if (kind === 'breaker_opened') places.push(['Channels', '/channels'])
  if (kind === 'letters_spilled') places.push(['Stores', '/settings'])
  if (target !== undefined) places.push(['Undelivered', `/letters?channel=${ALERT_CHANNEL}`])
  if (kind === 'digest') places.push(['Groups', '/groups?state=open'])
  return places
}
