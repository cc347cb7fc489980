import { hostname } from 'node:os'
import { pagerdutyRoutingKey } from '../../../core/options/addresses.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { text, withDefault } from '../../../core/options/rules.ts'
import type { Sink } from '../../../ports/sink.ts'
import { jsonSink } from '../alerts/json-sink.ts'
import { clientRules, type HttpClientOptions, httpUrl, type Target, targetOf } from '../sending/target.ts'
import { pagerdutyEvent } from './event.ts'

/** The default of the option `url`. */
export const DEFAULT_PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue'

/** Options of `pagerduty()`. */
export interface PagerdutyOptions extends HttpClientOptions {
  /** The integration key of a service, for the Events API v2. Never shown. */
  readonly routingKey: string
  /** Of the events API [https://events.pagerduty.com/v2/enqueue]; for an account in the EU that of events.eu.pagerduty.com. */
  readonly url?: string | undefined
  /** The machine or service that is affected, for events that do not say [this machine's name]. */
  readonly source?: string | undefined
}

const rules = {
  routingKey: pagerdutyRoutingKey,
  url: withDefault<Target>(httpUrl(DEFAULT_PAGERDUTY_URL), targetOf(DEFAULT_PAGERDUTY_URL)),
  source: withDefault(text({ maxLength: 255 }), hostname()),
  ...clientRules,
}

/** Triggers and resolves alerts of PagerDuty. An alert that is sent twice is one: they know it by its key. */
export function pagerduty(options: PagerdutyOptions): Sink {
  const { routingKey, url, source, agent, clock } = resolveOptions('pagerduty', rules, options)
  return jsonSink({
    name: 'pagerduty',
    target: url,
    secrets: [routingKey],
    agent,
    clock,
    bodyOf: event => pagerdutyEvent(event, routingKey, source),
  })
}
