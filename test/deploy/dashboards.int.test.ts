import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { DATASOURCE } from '../../deploy/grafana/source/panel.ts'
import { DASHBOARDS, fileOf, textOf } from '../../deploy/grafana/source/write.ts'
import { findPrometheus, promtool } from '../services/prometheus.ts'
import { withTempFolder } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'
import { asked, METRICS } from './metrics.ts'
import { ALERTS, RECORDED } from './rules.ts'

const FOLDER = join(ROOT, 'deploy/grafana')
const found = await findPrometheus()
const why = found.found ? '' : ` (skipped: ${found.why})`

interface PanelJson {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly datasource: { readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig: { readonly defaults: { readonly unit: string } }
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const files = readdirSync(FOLDER).filter(name => name.endsWith('.json'))
const dashboards = files.map(name => ({ name, json: JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) }))
const panelsOf = (json: { panels: readonly PanelJson[] }) => json.panels
const exprs = dashboards.flatMap(({ name, json }) =>
  panelsOf(json).flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({ where: `${name}: ${title}`, expr })),
  ),
)

/** As Grafana would put it, with everything chosen. */
function withoutVariables(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m').replaceAll(/"\$\w+"/g, '".*"')
}

describe('the dashboards', () => {
  it('E20: are what their source makes', () => {
    for (const each of DASHBOARDS) expect(readFileSync(fileOf(each), 'utf8'), each.name).toBe(textOf(each))
    expect(files.sort()).toEqual(DASHBOARDS.map(({ name }) => `${name}.json`).sort())
  })

  it.each(dashboards)('E20: $name can be imported', ({ json }) => {
    expect(json).toMatchObject({
      id: null,
      uid: expect.stringMatching(/^lazaret-[a-z-]{1,32}$/),
      title: expect.stringMatching(/^Lazaret: /),
      description: expect.stringMatching(/\.$/),
      schemaVersion: expect.any(Number),
      time: { from: expect.any(String), to: 'now' },
      templating: { list: expect.arrayContaining([expect.objectContaining({ name: 'datasource' })]) },
    })
    const text = JSON.stringify(json)
    const variables = new Set(json.templating.list.map((each: { name: string }) => each.name))
    for (const [, name] of text.matchAll(/\$\{?((?!__)\w+)\}?/g)) expect(variables).toContain(name)
    for (const name of variables) expect(text).toMatch(new RegExp(`\\$\\{?${name}\\b`))
  })

  it('E20: have addresses and panels of their own', () => {
    expect(new Set(dashboards.map(({ json }) => json.uid)).size).toBe(dashboards.length)
    for (const { name, json } of dashboards) {
      const ids = panelsOf(json).map(({ id }) => id)
      expect(new Set(ids).size, name).toBe(ids.length)
    }
  })

  it.each(dashboards)('E20: every panel of $name says what it shows', ({ json }) => {
    for (const panel of panelsOf(json)) {
      expect(panel.title).not.toBe('')
      expect(panel.description, panel.title).toMatch(/^[A-Z].*\.$/)
      expect(panel.fieldConfig.defaults.unit, panel.title).not.toBe('')
      expect(panel.datasource, panel.title).toEqual(DATASOURCE)
      expect(panel.targets.length, panel.title).toBeGreaterThan(0)
      const legends = panel.targets.map(({ legendFormat }) => legendFormat)
      expect(new Set(legends).size, panel.title).toBe(legends.length)
    }
  })

  it.each(dashboards)('E20: no panel of $name lies on another', ({ json }) => {
    const panels = panelsOf(json)
    for (const { title, gridPos } of panels) expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
    const overlaps = panels.flatMap((a, i) =>
      panels.slice(i + 1).flatMap(b => (overlap(a.gridPos, b.gridPos) ? [`${a.title} and ${b.title}`] : [])),
    )
    expect(overlaps).toEqual([])
  })

  it('E20: use metrics and labels that exist, and leave no metric out', () => {
    const recorded = new Map(RECORDED.map(({ record, expr }) => [record, expr]))
    const known = new Map(METRICS)
    for (const [record, expr] of recorded) known.set(record, known.get(asked(expr)[0]!.metric)!)
    for (const { where, expr } of exprs)
      for (const { metric, labels } of asked(expr)) {
        expect(known.has(metric), `${where}: ${metric}`).toBe(true)
        const missing = labels.filter(label => !known.get(metric)!.has(label))
        expect(missing, `${where}: ${expr}`).toEqual([])
      }
    const behind = (metric: string) => asked(recorded.get(metric) ?? metric).map(of => familyOf(of.metric))
    const drawn = new Set(exprs.flatMap(({ expr }) => asked(expr).flatMap(({ metric }) => behind(metric))))
    expect([...METRICS.keys()].map(familyOf).filter(metric => !drawn.has(metric))).toEqual([])
  })
})

describe('several servers and jobs', () => {
  const drawing = (metric: string) => exprs.map(({ expr }) => expr).filter(expr => expr.includes(metric))

  it('E20: what each process has is added up; of a store that several servers show, the largest reading counts', () => {
    for (const expr of drawing('lazaret_retry_queue_size'))
      expect(expr).toMatch(/^sum by \(name\) \(lazaret_/)
    for (const expr of drawing('lazaret_dlq_size'))
      expect(expr).toMatch(
        /^sum(?: by \(channel(?:, name)?\))? ?\(max without \(instance, pod\) \(lazaret_dlq_size/,
      )
  })

  it('E20: a replay is not counted twice because its server and its handler both tell of it', () => {
    for (const metric of ['lazaret_replay_outcomes_total', 'lazaret_dlq_replay_failed_total'])
      for (const expr of drawing(metric)) expect(expr).toMatch(/^sum by \(job, /)
  })

  it('E20/F/P: what raises an alert at the first one is drawn from that one on, which a rate is not', () => {
    const first = ALERTS.flatMap(({ expr }) => /(lazaret:[\w:]+)[^:]*> 0$/.exec(expr)?.[1] ?? [])
    expect(first).toHaveLength(4)
    expect(first.filter(record => drawing(record).length === 0)).toEqual([])
  })
})

describe.skipIf(!found.found)(`promtool${why}`, () => {
  it('E20: takes every query', async () => {
    await withTempFolder(async dir => {
      const file = join(dir, 'queries.yaml')
      const rules = exprs.map(({ expr }, i) => ({ record: `query${i}`, expr: withoutVariables(expr) }))
      await writeFile(file, stringify({ groups: [{ name: 'queries', rules }] }))
      const { code, text } = await promtool(['check', 'rules', file])
      expect({ code, text }).toEqual({
        code: 0,
        text: expect.stringContaining(`${rules.length} rules found`),
      })
    })
  })
})

function overlap(a: PanelJson['gridPos'], b: PanelJson['gridPos']): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

function familyOf(metric: string): string {
  return metric.replace(/(?<=_seconds|_before_dlq)_(bucket|sum|count)$/, '')
}
