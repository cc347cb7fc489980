import { group } from '../options/resolve.ts'
import { derived, eitherForm, entries, optional, type Rule, withDefault } from '../options/rules.ts'
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

const REMEDY = 'give an object with a time by name'

/** The time to live that a letter of this channel and reason gets. */
type LetterExpiry = (channel: string, reason: Reason) => TimeToLive

interface ExpiryPolicy {
  readonly default: TimeToLive | undefined
  readonly byReason: Readonly<Record<string, TimeToLive | undefined>>
}

const timesByReason = entries(optional(retentionRule), REMEDY)

const reasons = Object.keys(REASONS).map(name => [name, optional(retentionRule)] as const)

const byReasonRule: typeof timesByReason = {
  form: { kind: 'fields', fields: Object.fromEntries(reasons) },
  read(value, path, faults) {
    const times = timesByReason.read(value, path, faults)
    for (const name of Object.keys(times))
      if (times[name] !== undefined && !Object.hasOwn(REASONS, name))
        faults.add(`${path}.${name}`, name, `name a reason: ${Object.keys(REASONS).join(', ')}`)
    return times
  },
}

const reasonRules = {
  default: optional(retentionRule),
  byReason: withDefault(byReasonRule, {}),
}

const ofChannel: Rule<ExpiryPolicy> = timeOr(group(reasonRules))

/** The rule for the option `expiresAfterMs` of consumers, dispatchers and wrapped handlers. */
export const letterExpiryRule: Rule<LetterExpiry> = withDefault(
  derived(
    timeOr(group({ ...reasonRules, byChannel: withDefault(entries(optional(ofChannel), REMEDY), {}) })),
    createExpiry,
  ),
  () => 'never',
)

type FullPolicy = ExpiryPolicy & { readonly byChannel?: Readonly<Record<string, ExpiryPolicy | undefined>> }

function createExpiry(policy: FullPolicy): LetterExpiry {
  const channels = new Map(Object.entries(policy.byChannel ?? {}))
  return (channel, reason) => {
    const own = channels.get(channel)
    return (own && timeFor(own, reason)) ?? timeFor(policy, reason) ?? 'never'
  }
}

function timeFor({ default: otherwise, byReason }: ExpiryPolicy, reason: Reason): TimeToLive | undefined {
  return byReason[reason] ?? otherwise
}

/** A time alone is the time for every reason. */
function timeOr<T extends ExpiryPolicy>(rule: Rule<T>): Rule<T | ExpiryPolicy> {
  return {
    form: eitherForm(retentionRule.form, rule.form),
    read: (value, path, faults) =>
      typeof value === 'object' && value !== null
        ? rule.read(value, path, faults)
        : { default: retentionRule.read(value, path, faults), byReason: {} },
  }
}
