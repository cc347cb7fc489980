export type { OtelMetricsOptions, OtelTracingOptions } from './options.ts'
export { otelMetrics, otelTracing } from './otel.ts'
