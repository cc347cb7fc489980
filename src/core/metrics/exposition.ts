import type { HistogramSample, MetricFamily, NumberSample } from './family.ts'

/** The type of what `metricsText` writes. */
export const METRICS_TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Families in the text format that Prometheus reads (0.0.4). A family without series is there with its head. */
export function metricsText(families: readonly MetricFamily[], prefix: string): string {
  return families.map(family => familyText(family, `${prefix}${family.name}`)).join('\n')
}

function familyText(family: MetricFamily, name: string): string {
  const lines = [`# HELP ${name} ${escaped(family.help)}`, `# TYPE ${name} ${family.type}`]
  if (family.type === 'histogram') for (const sample of family.samples) addHistogram(lines, name, sample)
  else for (const sample of family.samples) lines.push(line(name, sample))
  return `${lines.join('\n')}\n`
}

function addHistogram(lines: string[], name: string, { labels, buckets, sum, count }: HistogramSample): void {
  for (const { le, count: upTo } of buckets)
    lines.push(line(`${name}_bucket`, { labels: { ...labels, le: numberText(le) }, value: upTo }))
  lines.push(line(`${name}_sum`, { labels, value: sum }), line(`${name}_count`, { labels, value: count }))
}

function line(name: string, { labels, value }: NumberSample): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`,
  )
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`
}

/** Half of a pair of surrogates, as a cut may leave it, cannot be written as UTF-8. */
function escaped(text: string): string {
  return text.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}
