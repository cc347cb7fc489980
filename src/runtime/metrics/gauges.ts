import type { NumberSample } from '../../core/metrics/family.ts'
import { OVERFLOW, Series, type SeriesBound } from '../../core/metrics/series.ts'
import { type GaugeName, METRICS } from '../../core/metrics/table.ts'
import type { GaugeReading } from '../../ports/metrics.ts'

/**
 * The readings of one gauge as its series. Several of the same labels are put together, as are those past the limit. What
 * is no number is left out.
 */
export function gaugeSamples(
  name: GaugeName,
  readings: readonly GaugeReading[],
  bound: SeriesBound,
): NumberSample[] {
  const { labels, together } = METRICS[name]
  const [label] = labels as readonly string[]
  const series = new Series(label === undefined ? 0 : 1, bound, () => ({ value: Number.NaN }))
  // The overflow of one source is that of all.
  for (const reading of readings) {
    if (reading.name !== name || !Number.isFinite(reading.value)) continue
    const cell = series.at(label === undefined ? '' : (reading.labels[label] ?? OVERFLOW))
    cell.value = Number.isNaN(cell.value) ? reading.value : joined(together, cell.value, reading.value)
  }
  return Array.from(series.entries(), ([[value], cell]) => ({
    labels: label === undefined ? {} : { [label]: value ?? '' },
    value: cell.value,
  }))
}

function joined(together: 'sum' | 'most', a: number, b: number): number {
  return together === 'sum' ? a + b : Math.max(a, b)
}
