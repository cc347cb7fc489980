import { group } from '../options/resolve.ts'
import { custom, derived, optional, type Rule, withDefault } from '../options/rules.ts'
import { REASONS, type Reason } from './reason.ts'
import { retentionRule } from './retention.ts'
import type { TimeToLive } from './time-to-live.ts'

/** How long undecided letters are kept, by the reason for giving up. */
export interface ExpiryByReason {
  /** For reasons that `byReason` does not name ['never']. */
  readonly default?: TimeToLive | undefined
  /** By the reason of the letter, such as `expired` or `rate_limited` [none]. */
  readonly byReason?: { readonly [R in Reason]?: TimeToLive | undefined } | undefined
}

/** How long undecided letters are kept, by reason and by channel. The rule of a channel counts before the others. */
export interface LetterExpiryOptions extends ExpiryByReason {
  /** By the channel of the letter [none]. */
  readonly byChannel?: { readonly [channel: string]: TimeToLive | ExpiryByReason } | undefined
}

/** The time to live that a letter of this channel and reason gets. */
type LetterExpiry = (channel: string, reason: Reason) => TimeToLive

interface ExpiryPolicy {
  readonly default: TimeToLive | undefined
  readonly byReason: Readonly<Record<string, TimeToLive>>
}

const byReasonRule: Rule<Readonly<Record<string, TimeToLive>>> = recordOf(retentionRule, name =>
  Object.hasOwn(REASONS, name) ? undefined : `name a reason: ${Object.keys(REASONS).join(', ')}`,
)

const reasonRules = {
  default: optional(retentionRule),
  byReason: withDefault(byReasonRule, {}),
}

const ofChannel: Rule<ExpiryPolicy> = timeOr(group(reasonRules))

/** The rule for the option `expiresAfterMs` of consumers, dispatchers and wrapped handlers. */
export const letterExpiryRule: Rule<LetterExpiry> = withDefault(
  derived(timeOr(group({ ...reasonRules, byChannel: withDefault(recordOf(ofChannel), {}) })), createExpiry),
  () => 'never',
)

type FullPolicy = ExpiryPolicy & { readonly byChannel?: Readonly<Record<string, ExpiryPolicy>> }

function createExpiry(policy: FullPolicy): LetterExpiry {
  const channels = new Map(Object.entries(policy.byChannel ?? {}))
  return (channel, reason) => {
    const own = channels.get(channel)
    return (own && timeFor(own, reason)) ?? timeFor(policy, reason) ?? 'never'
  }
}

function timeFor({ default: otherwise, byReason }: ExpiryPolicy, reason: Reason): TimeToLive | undefined {
  return Object.hasOwn(byReason, reason) ? byReason[reason] : otherwise
}

/** A time alone is the time for every reason. */
function timeOr<T extends ExpiryPolicy>(rule: Rule<T>): Rule<T | ExpiryPolicy> {
  return {
    read: (value, path, faults) =>
      typeof value === 'object' && value !== null
        ? rule.read(value, path, faults)
        : { default: retentionRule.read(value, path, faults), byReason: {} },
  }
}

/** An object whose values follow a rule. `nameFault` returns the remedy for a name that is not allowed. */
function recordOf<T>(
  rule: Rule<T>,
  nameFault: (name: string) => string | undefined = () => undefined,
): Rule<Readonly<Record<string, T>>> {
  const record = custom(
    (value): value is Record<string, unknown> =>
      typeof value === 'object' && value !== null && !Array.isArray(value),
    'give an object with a time by name',
  )
  return {
    read(value, path, faults) {
      const before = faults.list.length
      const given = record.read(value, path, faults)
      if (faults.list.length > before) return {}
      const entries = Object.entries(given).filter(([, each]) => each !== undefined)
      for (const [name] of entries) {
        const remedy = nameFault(name)
        if (remedy !== undefined) faults.add(`${path}.${name}`, name, remedy)
      }
      return Object.freeze(
        Object.fromEntries(entries.map(([name, each]) => [name, rule.read(each, `${path}.${name}`, faults)])),
      )
    },
  }
}
