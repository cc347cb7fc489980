import { metricsText } from '../../core/metrics/exposition.ts'
import { prefixRule } from '../../core/metrics/prefix.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import type { Metrics } from '../../ports/metrics.ts'

/** Options of `writeMetrics()`. */
export interface TextOptions {
  /** Before every name [lazaret_]. */
  readonly prefix?: string | undefined
}

/** Writes the current values in the text format of Prometheus. Send it as `METRICS_TEXT_TYPE`. */
export async function writeMetrics(metrics: Metrics, options: TextOptions = {}): Promise<string> {
  const { prefix } = resolveOptions('writeMetrics', { prefix: prefixRule }, options)
  return metricsText(await metrics.read(), prefix)
}
