import { channelRule } from '../../core/event/channel.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import { integer, oneOf, text } from '../../core/options/rules.ts'
import type { SubscribeOptions } from '../../ports/broker.ts'

const LONGEST = 1_000

interface SubscribeLimits {
  /** The longest handler name that the broker can keep. */
  readonly maxHandlerLength?: number
  /** Whether the broker has the capability `keyOrder`. */
  readonly keyOrder: boolean
}

/** Makes the check that a broker applies to the options of `subscribe`. It throws OptionsError with all faults. */
export function subscribeRules({ maxHandlerLength = LONGEST, keyOrder }: SubscribeLimits) {
  const rules = {
    channel: channelRule,
    handler: text({ maxLength: maxHandlerLength }),
    prefetch: integer({ min: 1 }),
    ordering: keyOrder ? oneOf('none', 'by-key') : oneOf('none'),
  }
  return (options: SubscribeOptions): SubscribeOptions => resolveOptions('subscribe', rules, options)
}
