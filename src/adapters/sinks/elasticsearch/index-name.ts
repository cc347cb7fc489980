import type { LazaretEvent } from '../../../core/event/event.ts'
import { PermanentError } from '../../../core/failure/signals.ts'
import type { Rule } from '../../../core/options/rules.ts'
import { show } from '../../../core/options/show.ts'

/** The name of the index for an event. */
export type IndexName = (event: LazaretEvent) => string

const DAY_MS = 86_400_000
const PLACEHOLDER = /\{([^{}]*)\}/g
const DATE = /^(?:yyyy|MM|dd|[._-])+$/
const FORBIDDEN = /[\\/*?"<>| ,#:A-Z]/
const BAD_START = /^[-_+]/
const MAX_NAME_BYTES = 255
/** Names are remembered for the channels and days there are. */
const MAX_REMEMBERED = 1_000

/**
 * A name with placeholders: `{channel}`, and dates of the event in UTC such as `{yyyy.MM.dd}` or `{yyyy.MM}`. The date
 * is that of the event and not of its sending, so that a repetition meets the document that is there.
 */
export const indexRule: Rule<IndexName> = {
  read(value, path, faults) {
    if (typeof value === 'function') return checked(value as IndexName)
    const remedy =
      "give a name in lower case such as 'events-{yyyy.MM.dd}' or '{channel}-{yyyy.MM}', or a function"
    if (typeof value === 'string' && isPattern(value)) return indexNamer(value)
    faults.add(path, value, remedy)
    return () => ''
  },
}

export const dataStreamRule: Rule<IndexName | undefined> = {
  read(value, path, faults) {
    if (value === undefined) return undefined
    if (typeof value === 'string' && isName(value) && !/[{}]/.test(value)) return () => value
    faults.add(path, value, "give the name of a data stream, such as 'logs-shop-default'")
    return undefined
  },
}

/** Whether both servers accept the name for an index. */
export function isName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || Buffer.byteLength(name) > MAX_NAME_BYTES) return false
  return !FORBIDDEN.test(name) && !BAD_START.test(name)
}

/** An invalid name would make the server refuse the whole request. */
function checked(indexOf: IndexName): IndexName {
  return event => {
    const name: unknown = indexOf(event)
    if (typeof name === 'string' && isName(name)) return name
    throw new PermanentError(
      `elasticsearch: the function 'index' returned ${show(name)}; return a lower-case index name`,
      {
        category: 'integration',
      },
    )
  }
}

function isPattern(pattern: string): boolean {
  const kinds = [...pattern.matchAll(PLACEHOLDER)].map(match => match[1]!)
  if (!kinds.every(kind => kind === 'channel' || DATE.test(kind))) return false
  return isName(pattern.replace(PLACEHOLDER, 'x')) && !/[{}]/.test(pattern.replace(PLACEHOLDER, ''))
}

function indexNamer(pattern: string): IndexName {
  const remembered = new Map<string, string>()
  return ({ channel, occurredAt }) => {
    const mark = `${Math.floor(occurredAt / DAY_MS)} ${channel}`
    const known = remembered.get(mark)
    if (known !== undefined) return known
    const name = indexNameFor(pattern, channel, occurredAt)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(mark, name)
    return name
  }
}

function indexNameFor(pattern: string, channel: string, occurredAt: number): string {
  const [year, month, day] = new Date(occurredAt).toISOString().slice(0, 10).split('-') as [
    string,
    string,
    string,
  ]
  return pattern.replace(PLACEHOLDER, (_, kind: string) => {
    if (kind === 'channel') return channel.toLowerCase()
    return kind.replaceAll('yyyy', year).replaceAll('MM', month).replaceAll('dd', day)
  })
}
