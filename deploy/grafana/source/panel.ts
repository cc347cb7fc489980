/** What Grafana calls a unit. */
export type Unit = 'short' | 'none' | 's' | 'percentunit' | 'reqps' | 'cps'

export interface Query {
  readonly expr: string
  /** What a line is called: `{{channel}}`. */
  readonly legend: string
}

export interface Panel {
  readonly kind: 'timeseries' | 'stat' | 'state-timeline'
  readonly title: string
  /** For the person who has never seen it: what it says, and when it is bad. */
  readonly description: string
  readonly unit: Unit
  readonly queries: readonly Query[]
  /** From this value on it is bad; with `below`, under it. */
  readonly badFrom?: number
  readonly badBelow?: number
}

export function lines(title: string, description: string, unit: Unit, ...queries: Query[]): Panel {
  return { kind: 'timeseries', title, description, unit, queries }
}

export function number(
  title: string,
  description: string,
  unit: Unit,
  expr: string,
  bad: Pick<Panel, 'badFrom' | 'badBelow'>,
): Panel {
  return { kind: 'stat', title, description, unit, queries: [{ expr, legend: title }], ...bad }
}

export function breakers(title: string, description: string, query: Query): Panel {
  return { kind: 'state-timeline', title, description, unit: 'none', queries: [query] }
}

/** The one that is chosen above the panels. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is Grafana's variable
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }
const CLOSED = { text: 'closed', color: 'green' }
const HALF_OPEN = { text: 'half-open', color: 'yellow' }
const OPEN = { text: 'open', color: 'red' }

/** The panel as Grafana keeps it. */
export function panelJson(panel: Panel, id: number, gridPos: Readonly<Record<string, number>>) {
  const { kind, title, description, unit, queries } = panel
  return {
    id,
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, ...looks(panel) }, overrides: [] },
    options: OPTIONS[kind],
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      range: kind !== 'stat',
      instant: kind === 'stat',
    })),
  }
}

function looks({ kind, badFrom, badBelow }: Panel) {
  switch (kind) {
    case 'timeseries':
      return { min: 0, color: { mode: 'palette-classic' }, custom: { fillOpacity: 10, showPoints: 'never' } }
    case 'state-timeline':
      return { mappings: [{ type: 'value', options: { 0: CLOSED, 1: HALF_OPEN, 2: OPEN } }] }
    case 'stat':
      return {
        color: { mode: 'thresholds' },
        thresholds: { mode: 'absolute', steps: steps(badFrom, badBelow) },
      }
  }
}

function steps(badFrom: number | undefined, badBelow: number | undefined) {
  const isBadBelow = badBelow !== undefined
  return [
    { value: null, color: isBadBelow ? 'red' : 'green' },
    { value: badBelow ?? badFrom ?? 1, color: isBadBelow ? 'green' : 'red' },
  ]
}

const OPTIONS: Readonly<Record<Panel['kind'], object>> = {
  timeseries: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  stat: { colorMode: 'background', graphMode: 'none', reduceOptions: { calcs: ['lastNotNull'] } },
  'state-timeline': { mergeValues: true, showValue: 'auto', legend: { showLegend: false } },
}
