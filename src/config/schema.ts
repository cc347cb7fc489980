import { letterCapsRule } from '../core/dead-letter/caps.ts'
import { parseMaskPath } from '../core/dead-letter/mask-path.ts'
import { createMasks, type MaskOptions } from '../core/dead-letter/masks.ts'
import { group, type Resolved } from '../core/options/resolve.ts'
import {
  custom,
  derived,
  entries,
  flag,
  integer,
  list,
  number,
  optional,
  orWord,
  type Rule,
  text,
  withDefault,
} from '../core/options/rules.ts'
import { DEFAULT_HOUSEKEEPING_CRON } from '../operations/housekeeping.ts'
import { cronRule } from '../operations/schedule.ts'
import type { Stage } from '../ports/replays.ts'
import { agentsRule } from './agents.ts'
import { brokersRule } from './brokers.ts'
import { collectorsRule } from './collectors.ts'
import { notifyRule } from './notify.ts'
import {
  boolean,
  coerced,
  duration,
  durationOrNever,
  fileUrl,
  numeric,
  orOff,
  regExp,
  storeUrl,
} from './rules.ts'
import { serverRule } from './server.ts'
import type { SETTING_NAMES } from './setting-names.ts'
import { watchRule } from './watch.ts'

const DEFAULT_AUTOMATIC_BATCH = 50
const DAY_MS = 86_400_000
const KEY_BYTES = 32

const masks = derived(
  group({
    paths: withDefault(
      list(
        custom(
          (value): value is string => typeof value === 'string' && parseMaskPath(value) !== undefined,
          "give a path such as 'payload.card.number' or '**.secret'",
          { kind: 'text' },
        ),
      ),
      [],
    ),
    names: withDefault(
      list(
        custom(
          (value): value is string => typeof value === 'string' && /[\p{L}\p{N}]/u.test(value),
          "give a property's name, with * for any characters",
          { kind: 'text' },
        ),
      ),
      [],
    ),
    patterns: withDefault(list(regExp), []),
    defaults: withDefault(boolean(flag()), true),
    personalData: optional(boolean(flag())),
  }),
  (options: MaskOptions) => createMasks(options),
)

/** Errors never show any part of a key. */
const key: Rule<string> = {
  form: { kind: 'text' },
  read(value, path, faults) {
    const isKey = typeof value === 'string' && Buffer.from(value, 'base64').length === KEY_BYTES
    if (!isKey) {
      const remedy = `give ${KEY_BYTES} bytes as base64; \`openssl rand -base64 32\` generates them`
      faults.list.push({ path, received: 'a hidden key', remedy })
    }
    return value as string
  },
}

const sealing = group(
  {
    current: text({ maxLength: 64 }),
    keys: entries(key, 'give a map of key IDs to keys'),
  },
  ({ current, keys }, fault) => {
    if (!Object.hasOwn(keys, current))
      fault('current', `give the ID of one of the keys: ${Object.keys(keys).join(', ')}`)
  },
)

const stage: Rule<Stage> = orWord('rest', numeric(integer({ min: 1 })))

/** Undefined settings take the defaults of a plan. */
const replay = group({
  stages: optional(list(stage, { minItems: 1, maxItems: 50 })),
  perSecond: optional(numeric(number({ min: 0, above: true, max: 100_000 }))),
  haltRefailRatio: optional(numeric(number({ min: 0, max: 1 }))),
  maxAge: optional(duration),
  needsApproval: optional(boolean(flag())),
})

const automaticReplay = orOff(
  group({
    cron: cronRule,
    batchSize: withDefault(numeric(integer({ min: 1, max: 1_000 })), DEFAULT_AUTOMATIC_BATCH),
    maxAge: withDefault(duration, DAY_MS),
  }),
  undefined,
)

const cleanup = orOff(group({ cron: withDefault(cronRule, DEFAULT_HOUSEKEEPING_CRON) }), undefined)

export const settingRules = {
  store: optional(storeUrl),
  brokerName: optional(text({ maxLength: 100 })),
  spill: optional(fileUrl),
  journal: optional(fileUrl),
  masks,
  sealing: optional(sealing),
  caps: coerced(letterCapsRule),
  // Without this option, each store keeps decided letters for its own default time, and undecided ones without limit.
  retention: optional(durationOrNever),
  expireUndecidedAfter: optional(durationOrNever),
  replay,
  automaticReplay: optional(automaticReplay),
  cleanup,
  brokers: optional(brokersRule),
  collectors: optional(collectorsRule),
  notify: optional(notifyRule),
  watch: watchRule,
  agents: optional(agentsRule),
  server: serverRule,
} satisfies Record<(typeof SETTING_NAMES)[number], Rule<unknown>>

/** Services read these sections with `loadPolicies`, and `lazaret config check` checks them. */
const ofServices: Rule<undefined> = { read: () => undefined }
const all = { ...settingRules, policies: ofServices, service: ofServices }

export type Settings = Resolved<typeof all>
export const settingsRule: Rule<Settings> = group(all)
