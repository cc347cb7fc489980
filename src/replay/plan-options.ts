import { resolveLetterFilter } from '../adapter-kit/query/letter-query.ts'
import { group, resolveOptions } from '../core/options/resolve.ts'
import {
  flag,
  integer,
  list,
  milliseconds,
  number,
  oneOf,
  optional,
  type Rule,
  text,
  that,
  withDefault,
} from '../core/options/rules.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'
import type { PatchOperation, Stage } from '../ports/replays.ts'
import { DEFAULT_MAX_AGE_MS } from './gates.ts'
import { DEFAULT_REFAIL_RATIO, DEFAULT_STAGES } from './stages.ts'

/** Asks for a plan. Give a filter or ids, never both. */
export interface PlanRequest {
  readonly filter?: LetterFilter | undefined
  readonly ids?: readonly string[] | undefined
  /** Why it is done: for the audit, and for whoever approves. */
  readonly reason: string
  readonly by: string
  /** Letters per stage; each stage waits for the outcomes of the one before [1, 10, 100, rest]. */
  readonly stages?: readonly Stage[] | undefined
  readonly perSecond?: number | undefined
  /** Halts when more than this share of what has ended failed again. */
  readonly haltRefailRatio?: number | undefined
  readonly haltOnSameFingerprint?: boolean | undefined
  /** Sends to another channel than the letters came from. */
  readonly to?: string | undefined
  /** A JSON Patch on every payload. */
  readonly patch?: readonly PatchOperation[] | undefined
  readonly maxAgeMs?: number | undefined
  readonly allowQuarantined?: boolean | undefined
  /** A second person must approve before it can be started. */
  readonly needsApproval?: boolean | undefined
}

const DEFAULT_REPLAY_PER_SECOND = 50
const MOST_STAGES = 50

const operation = group({
  op: oneOf('add', 'remove', 'replace', 'move', 'copy', 'test'),
  path: that(
    (value): value is string => typeof value === 'string',
    "give a path such as '/amount', or '' for all",
  ),
  from: optional(that((value): value is string => typeof value === 'string', 'give a path')),
  value: optional(
    that((value): value is PatchOperation['value'] => value !== undefined, 'give a JSON value'),
  ),
}) as Rule<PatchOperation>

const stage: Rule<Stage> = {
  read: (value, path, faults) => (value === 'rest' ? 'rest' : integer({ min: 1 }).read(value, path, faults)),
}

const rules = {
  filter: optional(
    that((value): value is LetterFilter => typeof value === 'object' && value !== null, 'give a filter'),
  ),
  ids: optional(list(text(), { maxItems: 100_000 })),
  reason: text({ maxLength: 1_000 }),
  by: text({ maxLength: 200 }),
  stages: withDefault(list(stage, { minItems: 1, maxItems: MOST_STAGES }), DEFAULT_STAGES),
  perSecond: withDefault(number({ min: 0, above: true, max: 100_000 }), DEFAULT_REPLAY_PER_SECOND),
  haltRefailRatio: withDefault(number({ min: 0, max: 1 }), DEFAULT_REFAIL_RATIO),
  haltOnSameFingerprint: withDefault(flag(), true),
  to: optional(text({ maxLength: 200 })),
  patch: optional(list(operation, { minItems: 1, maxItems: 100 })),
  maxAgeMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_AGE_MS),
  allowQuarantined: withDefault(flag(), false),
  needsApproval: withDefault(flag(), false),
}

export function resolvePlan(request: PlanRequest) {
  const asked = resolveOptions('replay', rules, request, ({ filter, ids }, fault) => {
    if (filter !== undefined && ids !== undefined) fault('ids', 'give ids or a filter, not both')
  })
  return { ...asked, filter: asked.filter && resolveLetterFilter(asked.filter) }
}
