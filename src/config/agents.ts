import { agentRateRule, agentRightsRule, maxLettersRule } from '../core/options/agents.ts'
import { group } from '../core/options/resolve.ts'
import { derived, list, text, withDefault } from '../core/options/rules.ts'
import { duration, numeric, orOff } from './rules.ts'

const boundedReplay = derived(
  group({
    channel: text({ maxLength: 500 }),
    maxLetters: numeric(maxLettersRule),
    maxAge: duration,
  }),
  ({ maxAge, ...rest }) => ({ ...rest, maxAgeMs: maxAge }),
)

/** What agents may do. `off` takes the tools off the server. */
export const agentsRule = orOff(
  group({
    allow: agentRightsRule,
    withoutApproval: withDefault(list(boundedReplay), []),
    rateLimit: agentRateRule({ numeric }),
  }),
  'off' as const,
)
