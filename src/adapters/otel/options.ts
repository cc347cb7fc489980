import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { DEFAULT_MASKS, type Masks } from '../../core/dead-letter/masks.ts'
import { DEFAULT_PREFIX } from '../../core/metrics/prefix.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { custom, having, oneOf, optional, withDefault } from '../../core/options/rules.ts'

/** Options of `otelTracing()`. */
export interface OtelTracingOptions {
  /** The provider of tracers [the one that is registered with OpenTelemetry, now or later]. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Hide secrets in the messages of failures [the built-in ones]. */
  readonly masks?: Masks | undefined
  /**
   * How to trace an event whose sender did not sample its trace. `pass`: the event keeps that trace and no span is recorded,
   * which costs almost nothing. `ask`: the sampler decides for each event ['pass'].
   */
  readonly unsampled?: 'pass' | 'ask' | undefined
}

const tracingRules = {
  tracerProvider: optional(
    having<TracerProvider>(
      'give a tracer provider with getTracer(), or leave it out for the registered one',
      'getTracer',
    ),
  ),
  masks: withDefault(having<Masks>('give masks of createMasks', 'maskText'), DEFAULT_MASKS),
  unsampled: withDefault(oneOf('pass', 'ask'), 'pass'),
}

type TracingSettings = Resolved<typeof tracingRules>

export function resolveTracing(options: OtelTracingOptions | undefined): TracingSettings {
  return resolveOptions('otelTracing', tracingRules, options)
}

/** Options of `otelMetrics()`. */
export interface OtelMetricsOptions {
  /** The provider of meters [the one that is registered with OpenTelemetry at the time of the call]. */
  readonly meterProvider?: MeterProvider | undefined
  /** The prefix of every metric name ['lazaret_']. */
  readonly prefix?: string | undefined
}

const metricsRules = {
  meterProvider: optional(
    having<MeterProvider>(
      'give a meter provider with getMeter(), or leave it out for the registered one',
      'getMeter',
    ),
  ),
  prefix: withDefault(
    custom(isPrefix, "give letters, digits and any of '_.-/', beginning with a letter, such as 'shop.'"),
    DEFAULT_PREFIX,
  ),
}

export function resolveMetrics(options: OtelMetricsOptions | undefined): Resolved<typeof metricsRules> {
  return resolveOptions('otelMetrics', metricsRules, options)
}

/** A valid beginning of an instrument's name. The SDK drops instruments with any other. */
function isPrefix(value: unknown): value is string {
  return typeof value === 'string' && /^(?:[A-Za-z][\w.\-/]{0,99})?$/.test(value)
}
