import type { LazaretEvent } from '../../../core/event/event.ts'
import { type Relations, type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import {
  custom,
  flag,
  integer,
  list,
  oneOf,
  optional,
  type Rule,
  synchronous,
  withDefault,
} from '../../../core/options/rules.ts'
import { type HttpServerOptions, httpUrl, probeRule, serverRules } from '../sending/target.ts'
import { eventLine, eventMetadata, type LokiLine, type LokiMetadata } from './entries.ts'
import { LABEL_FIELDS, type LabelField, labelName, MAX_LABELS } from './labels.ts'

/** The default of the option `maxLabelValues`. */
export const DEFAULT_LABEL_VALUES = 100
/** The default of the option `maxPushEvents`. */
export const DEFAULT_PUSH_EVENTS = 1_000
/** The default of the option `maxPushBytes`. */
export const DEFAULT_PUSH_BYTES = 1_048_576
/** The default of the option `maxLineBytes`. */
export const DEFAULT_LINE_BYTES = 262_144

/** Options of `loki()`. */
export interface LokiOptions extends HttpServerOptions {
  /** Where Loki is, without `/loki/api/v1/push`. A user and password in it become the Authorization header. */
  readonly url: string
  /** The tenant, sent as `X-Scope-OrgID`, where Loki serves several tenants [none]. */
  readonly tenant?: string | undefined
  /** Labels that are the same for all events, such as `{ app: 'shop' }` [`{ source: 'lazaret' }` when there would be none]. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** What of an event is a label [channel and severity]. */
  readonly labelFields?: readonly LabelField[] | undefined
  /** Returns further labels of an event [none]. */
  readonly labelsOf?: ((event: LazaretEvent) => Readonly<Record<string, string>>) | undefined
  /** Values that a label may have; those that come later become `other` [100]. */
  readonly maxLabelValues?: number | undefined
  /** The line of an event [the event as JSON]. */
  readonly line?: LokiLine | undefined
  /** Structured metadata, which Loki before 3.0 does not take; false: none [id, type, key and trace]. */
  readonly metadata?: LokiMetadata | false | undefined
  /** Whether the sink compresses its pushes [true]. */
  readonly gzip?: boolean | undefined
  /** Events in a push [1000]. */
  readonly maxPushEvents?: number | undefined
  /** Bytes of a push, before it is compressed [1 MiB]. */
  readonly maxPushBytes?: number | undefined
  /** `max_line_size` of Loki: longer lines are given up on without being sent [256 KiB]. */
  readonly maxLineBytes?: number | undefined
  /** What is asked how Loki is; false: the next batch finds out ['/ready']. */
  readonly probe?: string | false | undefined
}

/** The characters that Loki allows for a tenant. Several tenants are joined by `|`, for reading only. */
const TENANT = /^[\w!.*'()-]{1,150}$/

const tenantRule = custom(
  (value): value is string => typeof value === 'string' && TENANT.test(value) && !/^[.]{1,2}$/.test(value),
  "give one tenant: 1 to 150 letters, digits or !-_.*'()",
)

const labelsRule: Rule<Readonly<Record<string, string>>> = {
  read(value, path, faults) {
    if (value === undefined) return {}
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      faults.add(path, value, "give an object of strings, such as { app: 'shop' }")
      return {}
    }
    const names = new Set<string>()
    for (const [name, text] of Object.entries(value)) {
      if (typeof text !== 'string' || text === '')
        faults.add(`${path}.${name}`, text, 'give a string that is not empty')
      if (names.has(labelName(name)))
        faults.add(`${path}.${name}`, name, `rename it; another label is also called ${labelName(name)}`)
      names.add(labelName(name))
    }
    return Object.freeze({ ...value }) as Readonly<Record<string, string>>
  },
}

const metadataRule: Rule<LokiMetadata | undefined> = {
  read(value, path, faults) {
    if (value === undefined) return eventMetadata
    if (value === false) return undefined
    return synchronous<LokiMetadata>('give a function from event to texts by name, or false').read(
      value,
      path,
      faults,
    )
  },
}

const rules = {
  url: httpUrl('http://loki:3100'),
  ...serverRules,
  tenant: optional(tenantRule),
  labels: labelsRule,
  labelFields: withDefault(list(oneOf(...LABEL_FIELDS)), Object.freeze(['channel', 'severity'] as const)),
  labelsOf: optional(synchronous<NonNullable<LokiOptions['labelsOf']>>()),
  maxLabelValues: withDefault(integer({ min: 1, max: 10_000 }), DEFAULT_LABEL_VALUES),
  line: withDefault(synchronous<LokiLine>('give a function from event to its line'), eventLine),
  metadata: metadataRule,
  gzip: withDefault(flag(), true),
  maxPushEvents: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_PUSH_EVENTS),
  maxPushBytes: withDefault(integer({ min: 1_024 }), DEFAULT_PUSH_BYTES),
  maxLineBytes: withDefault(integer({ min: 1_024 }), DEFAULT_LINE_BYTES),
  probe: withDefault(probeRule, '/ready'),
}

const relations: Relations<typeof rules> = ({ url, token, labels, labelFields }, fault) => {
  if (token !== undefined && url.authorization !== undefined)
    fault('token', 'give either a token or credentials in the URL')
  if (/\/loki\/api\/v1\/push\/?$/.test(url.url.pathname))
    fault('url', 'remove /loki/api/v1/push; the sink adds it')
  if (Object.keys(labels).length + labelFields.length > MAX_LABELS)
    fault('labels', `give fewer; Loki accepts ${MAX_LABELS} labels per entry, including labelFields`)
}

export type LokiSettings = Resolved<typeof rules>

export function resolveLoki(options: LokiOptions): LokiSettings {
  return resolveOptions('loki', rules, options, relations)
}
