import { prefixRule } from '../core/metrics/prefix.ts'
import { checkAccess, tokenRule } from '../core/options/access.ts'
import { basePathRule } from '../core/options/base-path.ts'
import { group } from '../core/options/resolve.ts'
import { entries, flag, integer, list, number, optional, text } from '../core/options/rules.ts'
import { boolean, numeric, storeUrl } from './rules.ts'
import { signInRule } from './sign-in.ts'

/** The settings of `lazaret serve`. Undefined settings take the defaults of the server. */
export const serverRule = group(
  {
    port: optional(numeric(integer({ min: 0, max: 65_535 }))),
    host: optional(text({ maxLength: 253 })),
    basePath: optional(basePathRule),
    stores: optional(entries(storeUrl, 'give a map of store names to store URLs')),
    tokens: optional(list(tokenRule)),
    signIn: optional(signInRule),
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
  (given, fault) => {
    checkAccess(given, fault)
    if (given.stores !== undefined && Object.keys(given.stores).length === 0)
      fault('stores', 'give at least one store, or omit stores')
  },
)
