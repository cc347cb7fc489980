import { type Agent, validateHeaderName, validateHeaderValue } from 'node:http'
import { hiddenText, httpAddress } from '../../../core/options/addresses.ts'
import { derived, having, optional, type Rule } from '../../../core/options/rules.ts'
import { type Clock, clockRule } from '../../../ports/clock.ts'

/** The destination of requests, with the credentials removed from the URL. */
export interface Target {
  readonly url: URL
  /** The header for the user and password of the URL. */
  readonly authorization: string | undefined
  /** Values that must never appear in an error. */
  readonly secrets: readonly string[]
}

export function targetOf(address: string): Target {
  const url = new URL(address)
  const user = decoded(url.username)
  const password = decoded(url.password)
  const rawPassword = url.password
  url.username = ''
  url.password = ''
  url.hash = ''
  // The values as they are, and as they are escaped in the URL, because an answer may quote either.
  const rawValues = url.search.split('&').map(part => part.slice(part.indexOf('=') + 1))
  const secrets = [...url.searchParams.values(), ...rawValues]
  if (user === '' && password === '') return { url, authorization: undefined, secrets }
  return { url, authorization: basic(user, password), secrets: [...secrets, password, rawPassword] }
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** A decoded part of a URL, or the part itself if it cannot be decoded. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/**
 * The address for people. It contains neither credentials nor path and query, because the path of many webhooks is a
 * secret.
 */
export function addressOf({ url }: Target): string {
  return url.origin
}

export function httpUrl(example: string): Rule<Target> {
  return derived(httpAddress(example), targetOf)
}

/** Headers that a sink writes by itself. */
const OWN = new Set([
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
])

/** Their values are not shown: headers are where credentials travel. */
const headersRule: Rule<Readonly<Record<string, string>>> = {
  read(value, path, faults) {
    if (value === undefined) return {}
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      faults.add(path, value, "give an object of strings, such as { 'x-team': 'shop' }")
      return {}
    }
    for (const [name, text] of Object.entries(value)) {
      if (OWN.has(name.toLowerCase())) faults.add(path, name, 'remove it; another option sets it')
      else if (!isHeader(name, text))
        faults.list.push({
          path,
          received: `the header ${JSON.stringify(name)}`,
          remedy: 'use only characters that HTTP allows in headers',
        })
    }
    return Object.freeze({ ...value }) as Readonly<Record<string, string>>
  },
}

function isHeader(name: string, value: unknown): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value as string)
    return typeof value === 'string'
  } catch {
    return false
  }
}

/** A text that can stand in a header and is a secret. */
export const secretText = hiddenText(
  text => text !== '' && isHeader('authorization', text),
  'give a string of printable characters',
)

const agentRule = optional(
  having<Agent>('give an agent of node:http or node:https, to suit the URL', 'destroy'),
)

/** Options of every sink that sends HTTP requests. */
export interface HttpClientOptions {
  /** The HTTP agent, for a proxy or your own certificates [one made by the sink]. The caller closes it. */
  readonly agent?: Agent | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
}

export const clientRules = { agent: agentRule, clock: clockRule }

/** Options of sinks that send events to a server of your own. */
export interface HttpServerOptions extends HttpClientOptions {
  /** The token of the header `Authorization: Bearer` [none]. */
  readonly token?: string | undefined
  /** HTTP headers that the sink adds to every request [none]. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export const serverRules = { token: optional(secretText), headers: headersRule, ...clientRules }

/** A path on the same server that is asked how it is, or false to have the next batch find out. */
export const probeRule: Rule<string | false | undefined> = {
  read(value, path, faults) {
    if (value === undefined || value === false) return value
    if (typeof value === 'string' && /^\/[!-~]*$/.test(value)) return value
    faults.add(path, value, "give a path that starts with '/', or false")
    return false
  },
}
