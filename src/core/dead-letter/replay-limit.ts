import { group } from '../options/resolve.ts'
import { derived, eitherForm, entries, integer, type Rule, withDefault } from '../options/rules.ts'
import { DEFAULT_REPLAY_LIMIT } from './state.ts'

/** After how many failed replays a letter is parked, by channel. */
export interface ReplayLimitOptions {
  /** For channels that `byChannel` does not name [3]. */
  readonly default?: number | undefined
  /** By the channel of the letter [none]. */
  readonly byChannel?: { readonly [channel: string]: number } | undefined
}

const limit = integer({ min: 1, max: 1_000 })

const byChannelRule = derived(
  group({
    default: withDefault(limit, DEFAULT_REPLAY_LIMIT),
    byChannel: withDefault(entries(limit, 'give a number of replays by channel'), {}),
  }),
  limits => {
    const byChannel = new Map(Object.entries(limits.byChannel))
    return (channel: string) => byChannel.get(channel) ?? limits.default
  },
)

/** The rule for the option `replayLimit`: one number, or a number by channel. */
export const replayLimitRule: Rule<(channel: string) => number> = {
  form: eitherForm(limit.form, byChannelRule.form),
  read(value, path, faults) {
    if (value === undefined || (typeof value === 'object' && value !== null))
      return byChannelRule.read(value, path, faults)
    const forAll = limit.read(value, path, faults)
    return () => forAll
  },
}
