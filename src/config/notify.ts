import { ALERT_KINDS, ALERT_SEVERITIES } from '../core/alert/alert.ts'
import {
  httpAddress,
  mailAddress,
  mailAddresses,
  pagerdutyRoutingKey,
  sentryDsn,
  smtpAddress,
  subjectPrefix,
} from '../core/options/addresses.ts'
import { group } from '../core/options/resolve.ts'
import {
  eitherForm,
  entries,
  integer,
  list,
  oneOf,
  optional,
  type Rule,
  text,
} from '../core/options/rules.ts'
import { duration, HTTP, numeric, url } from './rules.ts'

/** Which alerts a target gets. */
const route = {
  atLeast: optional(oneOf(...ALERT_SEVERITIES)),
  kinds: optional(list(oneOf(...ALERT_KINDS), { minItems: 1 })),
}

const pageUrl = url(HTTP, "give a URL such as 'https://lazaret.example'")
const anyHttp = httpAddress('https://events.example/…')

const TARGETS = {
  slack: targetOf('slack', { url: httpAddress('https://hooks.slack.com/services/…') }),
  pagerduty: targetOf('pagerduty', { routingKey: pagerdutyRoutingKey, url: optional(anyHttp) }),
  email: targetOf('email', {
    url: smtpAddress,
    from: mailAddress,
    to: mailAddresses,
    subjectPrefix: optional(subjectPrefix),
  }),
  webhook: targetOf('webhook', { url: anyHttp, secret: text({ maxLength: 500 }) }),
  sentry: targetOf('sentry', { dsn: sentryDsn, environment: optional(text({ maxLength: 100 })) }),
}

/** A target has the keys of its type, and the route that every target may have. */
function targetOf<const T extends string, R extends Readonly<Record<string, Rule<unknown>>>>(
  type: T,
  rules: R,
) {
  return group({ type: oneOf(type), ...route, ...rules })
}

type TargetType = keyof typeof TARGETS
export type TargetConfig = {
  [T in TargetType]: (typeof TARGETS)[T] extends Rule<infer C> ? C : never
}[TargetType]

const targetType = oneOf('slack', 'pagerduty', 'email', 'webhook', 'sentry')

/** Reads a target by its type, which decides the other keys. */
const target: Rule<TargetConfig> = {
  form: eitherForm(...Object.values(TARGETS).map(({ form }) => form)),
  read(value, path, faults) {
    const before = faults.list.length
    const given = (value ?? {}) as { readonly type?: unknown }
    const type = targetType.read(given.type, `${path}.type`, faults)
    if (faults.list.length > before) return {} as TargetConfig
    return (TARGETS[type] as Rule<TargetConfig>).read(value, path, faults)
  },
}

/** The notifications of `lazaret serve`. Undefined settings take the defaults of the notifier. */
export const notifyRule = group(
  {
    targets: entries(target, 'give a map of target names to targets'),
    service: optional(text({ maxLength: 100 })),
    consoleUrl: optional(pageUrl),
    runbooks: optional(entries(pageUrl, 'give a map of alert kinds to page URLs')),
    repeat: optional(duration),
    resolveAfter: optional(duration),
    perMinute: optional(numeric(integer({ min: 1, max: 1_000 }))),
  },
  ({ targets, runbooks = {} }, fault) => {
    if (Object.keys(targets).length === 0) fault('targets', 'give at least one target, or omit notify')
    const named = Object.keys(targets).find(name => !/^[A-Za-z0-9][\w.-]{0,99}$/.test(name))
    if (named !== undefined) fault('targets', `rename '${named}': use letters, digits, '.', '_' and '-'`)
    const unknown = Object.keys(runbooks).find(kind => !(ALERT_KINDS as readonly string[]).includes(kind))
    if (unknown !== undefined)
      fault('runbooks', `unknown alert kind '${unknown}'; use one of ${ALERT_KINDS.join(', ')}`)
  },
)
