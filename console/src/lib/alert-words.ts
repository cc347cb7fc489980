import type { ChannelAlert } from '../api/types.ts'
import { counted, percent, whole } from './numbers.ts'
import { groupPath } from './paths.ts'
import { span } from './times.ts'

export const ALERT_NAMES: Readonly<Record<ChannelAlert['rule'], string>> = {
  depth: 'Too many letters',
  age: 'Letters too old',
  dominance: 'One cause dominates',
  rate: 'High rate of new letters',
}

/** What is amiss, with its limit. An alert ends a little later than what it is of, so that it does not flicker. */
export function alertWords(alert: ChannelAlert): string {
  const words = measured(alert)
  return alert.value > alert.limit ? words : `Back under the limit: ${words}`
}

function measured({ rule, value, limit, error }: ChannelAlert): string {
  switch (rule) {
    case 'depth':
      return `${counted(value, 'letter')} waiting (limit ${whole(limit)})`
    case 'age':
      return `Oldest has waited ${span(value)} (limit ${span(limit)})`
    case 'rate':
      return `${counted(value, 'letter')} within an hour (limit ${whole(limit)})`
    default:
      return `${error?.name.replace(/\.$/, '') ?? 'One cause'}: ${percent(value)} of letters (limit ${percent(limit)})`
  }
}

/** Where it can be dealt with. */
export function alertPath({ channel, error }: ChannelAlert): string {
  if (error !== undefined) return groupPath(error.fingerprint)
  return `/groups?${new URLSearchParams({ channel })}`
}
