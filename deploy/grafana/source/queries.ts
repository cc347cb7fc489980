import type { Query } from './panel.ts'

const WINDOW = '[$__rate_interval]'
/** A store is read by every server that shows it: the largest reading counts, not the sum. */
const OVER_SERVERS = 'without (instance, pod)'

/** How much a counter goes up each second, by some of its labels. */
export function rate(metric: string, selector: string, by: string, legend: string): Query {
  return { expr: `sum by (${by}) (rate(${metric}{${selector}}${WINDOW}))`, legend }
}

/** How much was counted within the window of a recorded series. A rate would not show the first one of a kind. */
export function within(record: string, selector: string, by: string, legend: string): Query {
  return { expr: `sum by (${by}) (${record}{${selector}})`, legend }
}

/** The worst reading of a gauge, by some of its labels. */
export function worst(metric: string, selector: string, by: string, legend: string): Query {
  return { expr: `max by (${by}) (${metric}{${selector}})`, legend }
}

/** What every process has of its own, added up. */
export function inHand(metric: string, selector: string, by: string, legend: string): Query {
  return { expr: `sum by (${by}) (${metric}{${selector}})`, legend }
}

/** What lies in stores, those of several jobs added up. */
export function stored(metric: string, selector: string, by: string, legend: string): Query {
  return { expr: `sum by (${by}) (${largest(metric, selector)})`, legend }
}

export function largest(metric: string, selector: string): string {
  return `max ${OVER_SERVERS} (${metric}{${selector}})`
}

/** Half of them, all but five in a hundred, all but one. */
export function quantiles(histogram: string, selector: string, by: string, legend: string): Query[] {
  return [0.5, 0.95, 0.99].map(quantile => ({
    expr: `histogram_quantile(${quantile}, sum by (le, ${by}) (rate(${histogram}_bucket{${selector}}${WINDOW})))`,
    legend: `p${quantile * 100} ${legend}`,
  }))
}

export function average(histogram: string, selector: string, by: string, legend: string): Query {
  const of = (part: string) => `sum by (${by}) (rate(${histogram}_${part}{${selector}}${WINDOW}))`
  return { expr: `${of('sum')} / ${of('count')}`, legend }
}
