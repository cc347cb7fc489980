import { DATASOURCE, type Panel, panelJson } from './panel.ts'

const COLUMNS = 24
/** Of Grafana 12. */
const SCHEMA_VERSION = 41
const HEIGHT = { stat: 4, timeseries: 8, 'state-timeline': 8 } as const

/** What can be chosen above the panels, beside the data source. */
export interface Variable {
  readonly name: 'job' | 'channel' | 'name'
  readonly label: string
  /** The series whose label is offered. */
  readonly from: string
}

export const JOB: Variable = { name: 'job', label: 'job', from: '{__name__=~"lazaret_.+"}' }

export interface Dashboard {
  /** Of its file, and of its address in Grafana. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly variables: readonly Variable[]
  /** From top to bottom; the panels of a row share its width. */
  readonly rows: readonly (readonly Panel[])[]
}

/** The dashboard as Grafana imports it. */
export function dashboardJson({ name, title, description, variables, rows }: Dashboard) {
  return {
    id: null,
    uid: `lazaret-${name}`,
    title,
    description,
    tags: ['lazaret'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    links: [
      {
        type: 'dashboards',
        title: 'Lazaret',
        tags: ['lazaret'],
        asDropdown: true,
        keepTime: true,
        includeVars: true,
      },
    ],
    annotations: { list: [] },
    templating: { list: [datasource(), ...variables.map(choice)] },
    panels: placed(rows),
  }
}

function datasource() {
  return {
    name: 'datasource',
    label: 'data source',
    type: 'datasource',
    query: 'prometheus',
    refresh: 1,
    hide: 0,
  }
}

function choice({ name, label, from }: Variable) {
  const query = `label_values(${from}, ${name})`
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: `Variable-${name}` },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  }
}

function placed(rows: Dashboard['rows']) {
  let id = 0
  let y = 0
  return rows.flatMap(row => {
    const w = COLUMNS / row.length
    const h = Math.max(...row.map(({ kind }) => HEIGHT[kind]))
    const top = y
    y += h
    return row.map((panel, index) => panelJson(panel, ++id, { x: index * w, y: top, w, h }))
  })
}
