import { group } from '../options/resolve.ts'
import { custom, derived, integer, type Rule, withDefault } from '../options/rules.ts'
import { DEFAULT_REPLAY_LIMIT } from './state.ts'

/** After how many failed replays a letter is parked, by channel. */
export interface ReplayLimitOptions {
  /** For channels that `byChannel` does not name [3]. */
  readonly default?: number | undefined
  /** By the channel of the letter [none]. */
  readonly byChannel?: { readonly [channel: string]: number } | undefined
}

const limit = integer({ min: 1, max: 1_000 })

const byChannel: Rule<ReadonlyMap<string, number>> = {
  read(value, path, faults) {
    const before = faults.list.length
    const given = record.read(value, path, faults)
    if (faults.list.length > before) return new Map()
    return new Map(
      Object.entries(given).map(([channel, each]) => [
        channel,
        limit.read(each, `${path}.${channel}`, faults),
      ]),
    )
  },
}

const record = custom(
  (value): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
  'give a number of replays by channel',
)

const byChannelRule = derived(
  group({
    default: withDefault(limit, DEFAULT_REPLAY_LIMIT),
    byChannel: withDefault(byChannel, new Map()),
  }),
  limits => (channel: string) => limits.byChannel.get(channel) ?? limits.default,
)

/** The rule for the option `replayLimit`: one number, or a number by channel. */
export const replayLimitRule: Rule<(channel: string) => number> = {
  read(value, path, faults) {
    if (value === undefined || (typeof value === 'object' && value !== null))
      return byChannelRule.read(value, path, faults)
    const forAll = limit.read(value, path, faults)
    return () => forAll
  },
}
