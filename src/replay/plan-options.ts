import { resolveLetterFilter } from '../adapter-kit/query/letter-query.ts'
import { channelRule } from '../core/event/channel.ts'
import { resolveOptions } from '../core/options/resolve.ts'
import {
  custom,
  flag,
  integer,
  list,
  milliseconds,
  number,
  optional,
  orWord,
  type Rule,
  text,
  withDefault,
} from '../core/options/rules.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'
import type { PatchOperation, Stage } from '../ports/replays.ts'
import { patchRule } from '../runtime/json-patch.ts'
import { DEFAULT_MAX_AGE_MS } from './gates.ts'
import { DEFAULT_REFAIL_RATIO, DEFAULT_STAGES } from './stages.ts'

/** Asks for a plan. Give a filter or ids, never both. */
export interface PlanRequest {
  /** Selects the letters by their fields. Give either a filter or `ids`. */
  readonly filter?: LetterFilter | undefined
  /** Selects the letters by their ids. Give either `ids` or a filter. */
  readonly ids?: readonly string[] | undefined
  /** The reason for the replay: for the audit log, and for the approver. */
  readonly reason: string
  /** The name of the person or program that asks for the replay, for the audit. */
  readonly by: string
  /** Letters per stage; each stage waits for the outcomes of the one before [1, 10, 100, rest]. */
  readonly stages?: readonly Stage[] | undefined
  /** Events that the replay sends per second [50]. */
  readonly perSecond?: number | undefined
  /** Halts the replay when more than this share of the ended events failed again, from 0 to 1 [0.2]. */
  readonly haltRefailRatio?: number | undefined
  /** Halts the replay when an event fails again with the same fingerprint before any event has recovered [true]. */
  readonly haltOnSameFingerprint?: boolean | undefined
  /** Sends the events to another channel than the letters came from [the same channel]. */
  readonly to?: string | undefined
  /** A JSON Patch that the replay applies to every payload [none]. */
  readonly patch?: readonly PatchOperation[] | undefined
  /** The oldest letter that the replay sends, in ms [86 400 000: one day]. */
  readonly maxAgeMs?: number | undefined
  /** Whether the replay may send quarantined letters [false]. */
  readonly allowQuarantined?: boolean | undefined
  /**
   * Whether the replay skips letters that no schema has checked [false]. Without it they are sent, and their consumer checks
   * them again. Letters of sinks have no schema and are sent.
   */
  readonly requireSchema?: boolean | undefined
  /** Whether no person asks for it, so that it sends only letters with `autoReplay: true` [false]. */
  readonly isAutomatic?: boolean | undefined
  /** Whether a second person must approve the replay before it starts [false]. */
  readonly needsApproval?: boolean | undefined
}

const DEFAULT_REPLAY_PER_SECOND = 50
const MAX_STAGES = 50

const stage: Rule<Stage> = orWord('rest', integer({ min: 1 }))

const rules = {
  filter: optional(
    custom((value): value is LetterFilter => typeof value === 'object' && value !== null, 'give a filter'),
  ),
  ids: optional(list(text(), { maxItems: 100_000 })),
  reason: text({ maxLength: 1_000 }),
  by: text({ maxLength: 200 }),
  stages: withDefault(list(stage, { minItems: 1, maxItems: MAX_STAGES }), DEFAULT_STAGES),
  perSecond: withDefault(number({ min: 0, above: true, max: 100_000 }), DEFAULT_REPLAY_PER_SECOND),
  haltRefailRatio: withDefault(number({ min: 0, max: 1 }), DEFAULT_REFAIL_RATIO),
  haltOnSameFingerprint: withDefault(flag(), true),
  to: optional(channelRule),
  patch: optional(patchRule),
  maxAgeMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_AGE_MS),
  allowQuarantined: withDefault(flag(), false),
  requireSchema: withDefault(flag(), false),
  isAutomatic: withDefault(flag(), false),
  needsApproval: withDefault(flag(), false),
}

export function resolvePlan(request: PlanRequest) {
  const asked = resolveOptions('replay', rules, request, ({ filter, ids }, fault) => {
    if (filter !== undefined && ids !== undefined) fault('ids', 'give ids or a filter, not both')
  })
  return { ...asked, filter: asked.filter && resolveLetterFilter(asked.filter) }
}
