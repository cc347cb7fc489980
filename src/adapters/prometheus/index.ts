export { METRICS_TEXT_TYPE } from '../../core/metrics/exposition.ts'
export {
  type PromMetric,
  type PromRegistry,
  type RegisterOptions,
  registerMetrics,
} from './register-metrics.ts'
export { type TextOptions, writeMetrics } from './write-metrics.ts'
