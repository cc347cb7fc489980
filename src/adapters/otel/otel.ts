import { loadClient } from '../../adapter-kit/load-client.ts'
import type { Metrics } from '../../ports/metrics.ts'
import type { Tracing } from '../../ports/tracing.ts'
import type { OtelMetricsOptions, OtelTracingOptions } from './options.ts'

// A static import of a missing package fails before any code runs, with an error of Node alone. So the API is looked for
// first, and the files that import it are loaded afterwards.
await loadClient('@opentelemetry/api', () => import('@opentelemetry/api'))
const metricsModule = await import('./metrics.ts')
const tracingModule = await import('./tracing.ts')

/** Shows all that is counted through the API of OpenTelemetry. The function it resolves with ends that. */
export function otelMetrics(metrics: Metrics, options?: OtelMetricsOptions): Promise<() => void> {
  return metricsModule.otelMetrics(metrics, options)
}

/**
 * Tracing through the API of OpenTelemetry. It follows the semantic conventions for messaging, and makes spans with
 * whatever SDK is registered; without one it does nothing.
 */
export function otelTracing(options?: OtelTracingOptions): Tracing {
  return tracingModule.otelTracing(options)
}
