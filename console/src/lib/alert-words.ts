import type { ChannelAlert } from '../api/types.ts'
import { counted, percent, whole } from './numbers.ts'
import { groupPath } from './paths.ts'
import { span } from './times.ts'

/** What is amiss, with its limit. An alert ends a little later than what it is of, so that it does not flicker. */
export function alertWords(alert: ChannelAlert): string {
  const words = measured(alert)
  return alert.value > alert.limit ? words : `${words}: within it again`
}

function measured({ rule, value, limit, error }: ChannelAlert): string {
  switch (rule) {
    case 'depth':
      return `${counted(value, 'letter')} ${value === 1 ? 'waits' : 'wait'}, the limit is ${whole(limit)}`
    case 'age':
      return `the oldest waits for ${span(value)}, the limit is ${span(limit)}`
    default:
      return `${percent(value)} ${error === undefined ? 'have one cause' : `are ${error.name}`}, the limit is ${percent(limit)}`
  }
}

/** Where it can be dealt with. */
export function alertPath({ channel, error }: ChannelAlert): string {
  if (error !== undefined) return groupPath(error.fingerprint)
  return `/groups?${new URLSearchParams({ channel })}`
}
