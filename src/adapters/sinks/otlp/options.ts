import type { LazaretEvent } from '../../../core/event/event.ts'
import { isPlainObject } from '../../../core/event/plain.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import {
  custom,
  derived,
  listener,
  milliseconds,
  oneOf,
  type Rule,
  synchronous,
  withDefault,
} from '../../../core/options/rules.ts'
import { type Clock, clockRule } from '../../../ports/clock.ts'
import type { OtlpAgentOptions, OtlpFormat } from './exporter.ts'
import type { PartialSuccess } from './partial-success.ts'
import type { OtlpAttribute } from './records.ts'

const DEFAULT_OTLP_TIMEOUT_MS = 10_000
export const DEFAULT_OTLP_BATCH_COUNT = 512

/** Options of `otlp()`. */
export interface OtlpOptions {
  /** Where logs are taken, path included: `http://collector:4318/v1/logs`. */
  readonly url: string
  /** protobuf needs the peer @opentelemetry/exporter-logs-otlp-proto, json the peer …-otlp-http [protobuf]. */
  readonly format?: OtlpFormat | undefined
  /** HTTP headers that the sink adds to every request, such as an API key [none]. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How the sink compresses its requests [none]. */
  readonly compression?: 'none' | 'gzip' | undefined
  /** Attributes of the sender, such as `{ 'service.name': 'shop' }` ['service.name' is 'unknown_service:node']. */
  readonly resource?: Readonly<Record<string, OtlpAttribute>> | undefined
  /** Returns further attributes of the record of an event [none]. The sink keeps 64 of at most 1 000 characters. */
  readonly attributes?:
    | ((event: LazaretEvent) => Readonly<Record<string, OtlpAttribute>> | undefined)
    | undefined
  /**
   * What becomes of a batch of which the collector took only a part, without saying which: all of it is refused, so
   * that nothing is lost, or all of it counts as taken, as OpenTelemetry's own exporters have it [reject].
   */
  readonly partialSuccess?: 'reject' | 'accept' | undefined
  /** Receives every answer with a partial success, also those with a warning only [none]. */
  readonly onPartialSuccess?:
    | ((
        partial: PartialSuccess & {
          /** Records in the request. */
          readonly sent: number
        },
      ) => void)
    | undefined
  /** Options of Node's HTTP agent: certificates, sockets [none]. */
  readonly agent?: OtlpAgentOptions | undefined
  /** The exporter's own, for a connection on which nothing happens. The lane's is the one that counts [10 s]. */
  readonly timeoutMs?: number | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
}

const rules = {
  url: derived(custom(isHttpUrl, 'give a URL such as http://collector:4318/v1/logs'), String),
  format: withDefault(oneOf('protobuf', 'json'), 'protobuf'),
  headers: withDefault(plain(isText, 'give an object of texts'), Object.freeze({})),
  compression: withDefault(oneOf('none', 'gzip'), 'none'),
  resource: withDefault(
    plain(isAttribute, 'give an object of texts, numbers and booleans'),
    Object.freeze({ 'service.name': 'unknown_service:node' }),
  ),
  attributes: withDefault(synchronous<NonNullable<OtlpOptions['attributes']>>(), () => undefined),
  partialSuccess: withDefault(oneOf('reject', 'accept'), 'reject'),
  onPartialSuccess: withDefault(listener<NonNullable<OtlpOptions['onPartialSuccess']>>(), () => {}),
  agent: withDefault(
    custom(isPlainObject as (value: unknown) => value is OtlpAgentOptions, 'give options'),
    {},
  ),
  timeoutMs: withDefault(milliseconds({ min: 1 }), DEFAULT_OTLP_TIMEOUT_MS),
  clock: clockRule,
}

export type OtlpSettings = Resolved<typeof rules>

export function resolveOtlpOptions(options: OtlpOptions): OtlpSettings {
  return resolveOptions('otlp', rules, options)
}

function isHttpUrl(value: unknown): value is string | URL {
  const url = URL.parse(String(value))
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
}

function plain<T>(
  accepts: (value: unknown) => value is T,
  remedy: string,
): Rule<Readonly<Record<string, T>>> {
  return custom(
    (value): value is Readonly<Record<string, T>> =>
      isPlainObject(value) && Object.values(value).every(accepts),
    remedy,
  )
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isAttribute(value: unknown): value is OtlpAttribute {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}
