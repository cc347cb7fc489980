export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export { otelMetrics } from './metrics.ts'
export type { OtelMetricsOptions, OtelTracingOptions } from './options.ts'
export { otelTracing } from './tracing.ts'
