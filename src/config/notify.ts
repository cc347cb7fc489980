import { ALERT_KINDS, ALERT_SEVERITIES } from '../core/alert/alert.ts'
import { group } from '../core/options/resolve.ts'
import { integer, list, oneOf, optional, type Rule, text, that } from '../core/options/rules.ts'
import { duration, entries, numeric } from './rules.ts'

/** Which alerts a target gets. */
const route = {
  atLeast: optional(oneOf(...ALERT_SEVERITIES)),
  kinds: optional(list(oneOf(...ALERT_KINDS), { minItems: 1 })),
}

const httpUrl = that(
  (value): value is string => typeof value === 'string' && /^https?:\/\/./.test(value) && URL.canParse(value),
  "give a URL such as 'https://hooks.slack.com/services/…'",
)

const smtpUrl = that(
  (value): value is string => typeof value === 'string' && /^smtps?:\/\/./.test(value) && URL.canParse(value),
  "give a URL such as 'smtp://user:password@mail.example:587'",
)

const addresses: Rule<readonly string[]> = {
  read: (value, path, faults) =>
    list(text({ maxLength: 500 }), { minItems: 1, maxItems: 100 }).read(
      typeof value === 'string' ? [value] : value,
      path,
      faults,
    ),
}

const TARGETS = {
  slack: group({ type: oneOf('slack'), ...route, url: httpUrl }),
  pagerduty: group({
    type: oneOf('pagerduty'),
    ...route,
    routingKey: that(
      (value): value is string => typeof value === 'string' && /^[\w-]{32}$/.test(value),
      'give the 32 characters of the integration key (Events API v2) of a service',
    ),
    url: optional(httpUrl),
  }),
  email: group({
    type: oneOf('email'),
    ...route,
    url: smtpUrl,
    from: text({ maxLength: 500 }),
    to: addresses,
    subjectPrefix: optional(text({ maxLength: 100 })),
  }),
  webhook: group({ type: oneOf('webhook'), ...route, url: httpUrl, secret: text({ maxLength: 500 }) }),
  sentry: group({
    type: oneOf('sentry'),
    ...route,
    dsn: httpUrl,
    environment: optional(text({ maxLength: 100 })),
  }),
}

type TargetType = keyof typeof TARGETS
export type TargetConfig = {
  [T in TargetType]: (typeof TARGETS)[T] extends Rule<infer C> ? C : never
}[TargetType]

const targetType = oneOf('slack', 'pagerduty', 'email', 'webhook', 'sentry')

/** By its type, which says what else there may be. */
const target: Rule<TargetConfig> = {
  read(value, path, faults) {
    const before = faults.list.length
    const given = (value ?? {}) as { readonly type?: unknown }
    const type = targetType.read(given.type, `${path}.type`, faults)
    if (faults.list.length > before) return {} as TargetConfig
    return (TARGETS[type] as Rule<TargetConfig>).read(value, path, faults)
  },
}

/** Whom `lazaret serve` tells. Left undefined, the notifier's own defaults hold. */
export const notifyRule = group(
  {
    targets: entries(target, 'give targets by their names'),
    service: optional(text({ maxLength: 100 })),
    consoleUrl: optional(httpUrl),
    runbooks: optional(entries(httpUrl, 'give addresses of pages by kinds of alerts')),
    repeat: optional(duration),
    resolveAfter: optional(duration),
    perMinute: optional(numeric(integer({ min: 1, max: 1_000 }))),
  },
  ({ targets, runbooks = {} }, fault) => {
    if (Object.keys(targets).length === 0) fault('targets', 'give one target at least, or leave notify out')
    const named = Object.keys(targets).find(name => !/^[A-Za-z0-9][\w.-]{0,99}$/.test(name))
    if (named !== undefined) fault('targets', `name '${named}' with letters, digits, '.', '_' and '-'`)
    const unknown = Object.keys(runbooks).find(kind => !(ALERT_KINDS as readonly string[]).includes(kind))
    if (unknown !== undefined)
      fault('runbooks', `there is no '${unknown}'; there are ${ALERT_KINDS.join(', ')}`)
  },
)
