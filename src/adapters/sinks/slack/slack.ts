import { resolveOptions } from '../../../core/options/resolve.ts'
import type { Sink } from '../../../ports/sink.ts'
import { jsonSink } from '../alerts/json-sink.ts'
import { clientRules, type HttpClientOptions, httpUrl } from '../sending/target.ts'
import { slackMessage } from './message.ts'

/** Options of `slack()`. */
export interface SlackOptions extends HttpClientOptions {
  /** The address of an incoming webhook. Everyone who knows it can write to the channel, so it is never shown. */
  readonly url: string
}

const rules = {
  url: httpUrl('https://hooks.slack.com/services/T…/B…/…'),
  ...clientRules,
}

/** Posts each event to a channel of Slack, or of anything that takes the messages of Slack's incoming webhooks. */
export function slack(options: SlackOptions): Sink {
  const { url, agent, clock } = resolveOptions('slack', rules, options)
  const secrets = [url.url.pathname, ...url.url.pathname.split('/')]
  return jsonSink({ name: 'slack', target: url, secrets, agent, clock, bodyOf: slackMessage })
}
