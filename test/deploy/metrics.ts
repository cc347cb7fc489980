import { METRICS as TABLE } from '../../src/core/metrics/table.ts'

/** What Prometheus adds to every series, and how it calls a label that it would hide. */
const OF_TARGETS = ['job', 'instance']

/** Every metric there is as Prometheus has it, with the labels it has there. */
export const METRICS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(TABLE).flatMap(([name, { type, labels }]) => {
    const scraped = labels.map(label => (OF_TARGETS.includes(label) ? `exported_${label}` : label))
    const all = [...scraped, ...OF_TARGETS]
    const series = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    return series.map(part => {
      const own = part === '_bucket' ? [...all, 'le'] : all
      return [`lazaret_${name}${part}`, new Set(own)] as const
    })
  }),
)

/** The metrics that an expression reads, those behind recorded ones included, each with the labels it is asked for. */
export function asked(
  expr: string,
): readonly { readonly metric: string; readonly labels: readonly string[] }[] {
  const by = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/))
  return [...expr.matchAll(/\b(lazaret[_:][\w:]+)(?:\{([^}]*)\})?/g)].map(([, metric, selector = '']) => ({
    metric: metric!,
    labels: [...by, ...[...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!)],
  }))
}
