import { prefixRule } from '../core/metrics/prefix.ts'
import { HOSTS_NEED_TOKENS, isLoopback } from '../core/options/loopback.ts'
import { group } from '../core/options/resolve.ts'
import { custom, flag, integer, list, number, oneOf, optional, text } from '../core/options/rules.ts'
import { boolean, entries, numeric, storeUrl } from './rules.ts'

/** Errors do not show the hash: a reader could test tokens against it. */
const tokenHash = custom(
  (value): value is string => typeof value === 'string' && /^[\da-f]{64}$/i.test(value),
  'give the SHA-256 of the token in hex; `printf %s TOKEN | sha256sum` prints it',
)

const tokens = list(
  group({
    name: text({ maxLength: 100 }),
    role: oneOf('viewer', 'operator', 'admin'),
    sha256: tokenHash,
  }),
)

/** The settings of `lazaret serve`. Undefined settings take the defaults of the server. */
export const serverRule = group(
  {
    port: optional(numeric(integer({ min: 0, max: 65_535 }))),
    host: optional(text({ maxLength: 253 })),
    stores: optional(entries(storeUrl, 'give a map of store names to store URLs')),
    tokens: optional(tokens),
    readOnly: optional(boolean(flag())),
    needsApproval: optional(boolean(flag())),
    allowedHosts: optional(list(text({ maxLength: 253 }))),
    streams: optional(
      group({
        perToken: optional(numeric(integer({ min: 1, max: 100_000 }))),
        total: optional(numeric(integer({ min: 1, max: 100_000 }))),
      }),
    ),
    metricsPrefix: optional(prefixRule),
    rateLimit: optional(
      group({
        perSecond: numeric(number({ min: 0, above: true, max: 1_000_000 })),
        burst: optional(numeric(integer({ min: 1, max: 1_000_000 }))),
      }),
    ),
  },
  ({ tokens: given = [], needsApproval, stores, allowedHosts = [] }, fault) => {
    if (given.length === 0 && !allowedHosts.every(isLoopback)) fault('allowedHosts', HOSTS_NEED_TOKENS)
    if (new Set(given.map(({ name }) => name)).size < given.length)
      fault('tokens', 'give each token a unique name')
    if (needsApproval && given.length < 2)
      fault('needsApproval', 'give at least two tokens, because a second person has to approve')
    if (stores !== undefined && Object.keys(stores).length === 0)
      fault('stores', 'give at least one store, or omit stores')
  },
)
