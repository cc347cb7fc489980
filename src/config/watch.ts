import { group, type Resolved } from '../core/options/resolve.ts'
import { entries, integer, number, optional, type Rule } from '../core/options/rules.ts'
import type { ChannelLimits, WatchOptions } from '../core/watch/options.ts'
import { duration, numeric, orOff } from './rules.ts'

const SHORTEST_MS = 1_000
const LONGEST_MS = 86_400_000

const limits = {
  depth: optional(numeric(integer({ min: 0 }))),
  age: optional(duration),
  dominance: optional(numeric(number({ min: 0, max: 1 }))),
  dominanceOver: optional(numeric(integer({ min: 0 }))),
  ratePerHour: optional(numeric(integer({ min: 0 }))),
}

const rules = {
  every: optional(duration),
  ...limits,
  channels: optional(entries(group(limits), 'give a map of channel names to limits')),
  calmAfter: optional(numeric(integer({ min: 1, max: 100 }))),
  trendOver: optional(numeric(integer({ min: 3, max: 1_000 }))),
  stableWithin: optional(numeric(number({ min: 0, max: 10 }))),
  expiringWithin: optional(orOff(duration, 'off' as const)),
  keep: optional(duration),
}

const watch = group(
  rules,
  ({ every = SHORTEST_MS, keep = LONGEST_MS, expiringWithin = LONGEST_MS }, fault) => {
    if (every < SHORTEST_MS || every > LONGEST_MS) fault('every', 'give a duration from 1s up to 1d')
    if (expiringWithin !== 'off' && (expiringWithin < 60 * SHORTEST_MS || expiringWithin > 365 * LONGEST_MS))
      fault('expiringWithin', "give a duration from 1m up to 365d, or 'off'")
    if (keep < 60 * SHORTEST_MS) fault('keep', 'give a duration of at least 1m')
  },
)

/** Undefined settings take the defaults of the server. */
export const watchRule: Rule<WatchOptions | 'off'> = orOff(
  {
    form: watch.form,
    read: (value, path, faults) => optionsOf(watch.read(value, path, faults)),
  },
  'off',
)

function optionsOf({ every, keep, expiringWithin, channels, ...rest }: Resolved<typeof rules>): WatchOptions {
  return {
    ...limitsOf(rest),
    everyMs: every,
    keepMs: keep,
    expiringWithinMs: expiringWithin,
    channels:
      channels &&
      Object.fromEntries(Object.entries(channels).map(([channel, own]) => [channel, limitsOf(own)])),
  }
}

function limitsOf<L extends Resolved<typeof limits>>({ age, ...rest }: L): Omit<L, 'age'> & ChannelLimits {
  return { ...rest, ageMs: age }
}
