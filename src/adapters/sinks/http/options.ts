import { type Relations, type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { flag, integer, oneOf, type Rule, withDefault } from '../../../core/options/rules.ts'
import { type HttpServerOptions, httpUrl, probeRule, serverRules } from '../sending/target.ts'
import type { HttpFormat, HttpFormatter } from './body.ts'
import { signingKeyRule } from './signature.ts'

/** The default of the option `maxRequestEvents`. */
export const DEFAULT_REQUEST_EVENTS = 500
/** The default of the option `maxRequestBytes`. */
export const DEFAULT_REQUEST_BYTES = 1_048_576
/** The default of the option `concurrency` of `webhook()`. */
export const DEFAULT_WEBHOOK_CONCURRENCY = 8

/** Options of `http()`. */
export interface HttpSinkOptions extends HttpServerOptions {
  /** `http://` or `https://`; a user and password in it become the Authorization header. */
  readonly url: string
  /**
   * The signing secret of Standard Webhooks, `whsec_…` [none]. With several secrets each one signs, so that the
   * receiver can change to a new one.
   */
  readonly secret?: string | readonly string[] | undefined
  /** The HTTP method of the requests [POST]. */
  readonly method?: 'POST' | 'PUT' | undefined
  /** A JSON array of events in a request, or one event in each [batch; webhook: each]. */
  readonly request?: 'batch' | 'each' | undefined
  /** What an event looks like, or a function that says so [event; webhook: webhook]. */
  readonly format?: HttpFormat | HttpFormatter | undefined
  /** Compresses larger bodies; the receiver must know how to read them [false]. */
  readonly gzip?: boolean | undefined
  /** In a request of several [500]. */
  readonly maxRequestEvents?: number | undefined
  /** Of a request of several, before it is compressed [1 MiB]. */
  readonly maxRequestBytes?: number | undefined
  /** Requests at once within a write. With more than one, events can overtake each other [1; webhook: 8]. */
  readonly concurrency?: number | undefined
  /** What is asked with HEAD how the server is; false: the next batch finds out [the URL itself]. */
  readonly probe?: string | false | undefined
}

/** Options of `webhook()`. Every request is signed. */
export interface WebhookOptions extends HttpSinkOptions {
  /**
   * The signing secret of Standard Webhooks, `whsec_…`. With several secrets each one signs, so that the receiver can
   * change to a new one.
   */
  readonly secret: string | readonly string[]
}

const NONE: readonly Buffer[] = Object.freeze([])

const keysRule: Rule<readonly Buffer[]> = {
  read(value, path, faults) {
    if (value === undefined) return NONE
    if (!Array.isArray(value)) return [signingKeyRule.read(value, path, faults)]
    if (value.length === 0) faults.add(path, value, 'give at least one, or leave the option out')
    return value.map((key, index) => signingKeyRule.read(key, `${path}[${index}]`, faults))
  },
}

const formatRule: Rule<HttpFormat | HttpFormatter> = {
  read(value, path, faults) {
    if (typeof value === 'function') return value as HttpFormatter
    return oneOf('event', 'cloudevents', 'webhook').read(value, path, faults)
  },
}

const rules = {
  url: httpUrl('https://example.com/events'),
  ...serverRules,
  secret: keysRule,
  method: withDefault(oneOf('POST', 'PUT'), 'POST'),
  request: withDefault(oneOf('batch', 'each'), 'batch'),
  format: withDefault<HttpFormat | HttpFormatter>(formatRule, 'event'),
  gzip: withDefault(flag(), false),
  maxRequestEvents: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_REQUEST_EVENTS),
  maxRequestBytes: withDefault(integer({ min: 1_024 }), DEFAULT_REQUEST_BYTES),
  concurrency: withDefault(integer({ min: 1, max: 256 }), 1),
  probe: probeRule,
}

const webhookRules = {
  ...rules,
  secret: { read: keysOrFault } satisfies Rule<readonly Buffer[]>,
  request: withDefault(oneOf('batch', 'each'), 'each'),
  format: withDefault<HttpFormat | HttpFormatter>(formatRule, 'webhook'),
  concurrency: withDefault(integer({ min: 1, max: 256 }), DEFAULT_WEBHOOK_CONCURRENCY),
}

function keysOrFault(...[value, path, faults]: Parameters<Rule<unknown>['read']>): readonly Buffer[] {
  if (value !== undefined) return keysRule.read(value, path, faults)
  return [signingKeyRule.read(value, path, faults)]
}

const relations: Relations<typeof rules> = ({ url, token, secret, gzip }, fault) => {
  if (token !== undefined && url.authorization !== undefined)
    fault('token', 'give either a token or credentials in the URL')
  if (gzip && secret.length > 0) fault('gzip', 'leave it out: the signature covers the uncompressed body')
}

export type HttpSettings = Resolved<typeof rules>

export function resolveHttp(options: HttpSinkOptions): HttpSettings {
  return resolveOptions('http', rules, options, relations)
}

export function resolveWebhook(options: WebhookOptions): HttpSettings {
  return resolveOptions('webhook', webhookRules, options, relations)
}
