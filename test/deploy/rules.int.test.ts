import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ALERT_KINDS } from '../../src/core/alert/alert.ts'
import { findPrometheus, promtool } from '../services/prometheus.ts'
import { withTempFolder } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'
import { asked, METRICS } from './metrics.ts'
import { ALERTS, faster, LOOKS, RECORDED, RULE_TESTS, RULES, seconds } from './rules.ts'
import { RUNBOOK_LINES } from './shell-lines.ts'

const found = await findPrometheus()
const why = found.found ? '' : ` (skipped: ${found.why})`
const RUNBOOKS = join(ROOT, 'docs/runbooks')

describe.skipIf(!found.found)(`promtool${why}`, () => {
  it('E20: takes the rules', async () => {
    const { code, text } = await promtool(['check', 'rules', RULES])
    expect({ code, text }).toMatchObject({ code: 0, text: expect.stringContaining('SUCCESS') })
  })

  it('E20/F/P: their unit tests pass', async () => {
    const files = readdirSync(RULE_TESTS).map(name => join(RULE_TESTS, name))
    for (const told of await Promise.all(files.map(file => promtool(['test', 'rules', file]))))
      expect(told).toMatchObject({ code: 0, text: expect.not.stringContaining('FAILED') })
  })
})

describe('the alert rules', () => {
  it.each(ALERTS.map(({ alert }) => alert))(
    'E20/F/P: %s is shown to fire, not to fire, and to resolve',
    name => {
      const worlds = LOOKS.map(looks =>
        looks
          .filter(({ alertname }) => alertname === name)
          .sort((a, b) => seconds(a.eval_time) - seconds(b.eval_time))
          .map(({ exp_alerts = [] }) => exp_alerts.length > 0),
      ).filter(firing => firing.length > 0)
      const shown = {
        fires: worlds.some(firing => firing.includes(true)),
        doesNotFire: worlds.some(firing => !firing.includes(true)),
        resolves: worlds.some(firing => firing.some((fires, i) => fires && firing.slice(i).includes(false))),
      }
      expect(shown).toEqual({ fires: true, doesNotFire: true, resolves: true })
    },
  )

  it('E20/F/P: say how bad it is, what it is, and where to read on', () => {
    for (const { alert, labels, annotations } of ALERTS) {
      expect(['critical', 'warning'], alert).toContain(labels['severity'])
      expect(annotations, alert).toEqual({
        summary: expect.stringMatching(/\{\{/),
        description: expect.stringMatching(/\{\{ .*\.(\{\{ end \}\})?$/s),
        runbook_url: expect.stringMatching(/^docs\/runbooks\/[a-z-]+\.md$/),
      })
      expect(existsSync(join(ROOT, annotations['runbook_url']!)), annotations['runbook_url']).toBe(true)
    }
  })

  it('E20: read metrics that exist, and name labels that these have', () => {
    const recorded = new Map(RECORDED.map(({ record, expr }) => [record, asked(expr)]))
    for (const { alert, expr, annotations } of ALERTS) {
      const read = asked(expr).flatMap(({ metric, labels }) =>
        (recorded.get(metric) ?? [{ metric, labels: [] }]).map(of => ({ metric: of.metric, labels })),
      )
      const named = [
        ...Object.values(annotations)
          .join()
          .matchAll(/\$labels\.(\w+)/g),
      ].map(([, label]) => label!)
      for (const { metric, labels } of read) {
        expect(METRICS.has(metric), `${alert}: ${metric}`).toBe(true)
        const missing = [...labels, ...named].filter(label => !METRICS.get(metric)!.has(label))
        expect(missing, alert).toEqual([])
      }
    }
  })

  it('E20: can be hurried for a test with other durations and nothing else', () => {
    const text = readFileSync(RULES, 'utf8')
    const withoutDurations = (rules: string) =>
      rules.replace(/(?<=(?:for|interval): |\[|offset )\d+[smh]/g, '')
    const hurried = faster(text, 30)
    expect(withoutDurations(hurried)).toBe(withoutDurations(text))
    expect(hurried).toContain('max_over_time(lazaret_breaker_state[2s])')
    expect(hurried).toContain('for: 4s')
  })

  it('E20/F/P: have a runbook page each, and no page is without an alert', () => {
    const pages = readdirSync(RUNBOOKS).filter(name => name !== 'README.md')
    const named = ALERTS.map(({ annotations }) => basename(annotations['runbook_url']!))
    expect(named.sort()).toEqual(pages.sort())
    for (const { alert, annotations } of ALERTS)
      expect(readFileSync(join(ROOT, annotations['runbook_url']!), 'utf8')).toMatch(
        new RegExp(`^# .*\n\n\`${alert}\``),
      )
  })
})

describe('the pages of the runbooks', () => {
  it('S7/K5: have one for every kind of alert that Lazaret tells by itself', () => {
    const readme = readFileSync(join(RUNBOOKS, 'README.md'), 'utf8')
    const kinds = [...readme.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, kind]) => kind!)
    expect(kinds.sort()).toEqual([...ALERT_KINDS].sort())
  })

  it('E20/F/P: use no variable that nobody is told of', () => {
    const readme = readFileSync(join(RUNBOOKS, 'README.md'), 'utf8')
    const [, variables = ''] = /^```sh variables\n([\s\S]*?)^```$/m.exec(readme) ?? []
    const [ids = ''] = /^`\$GROUP`.* are ids/m.exec(readme) ?? []
    const told = [...variables.matchAll(/(\w+)=/g), ...ids.matchAll(/\$(\w+)/g)].map(([, name]) => name!)
    const used = [...RUNBOOK_LINES.values()].flat().flatMap(line => line.match(/(?<=\$)[A-Z_]{2,}/g) ?? [])
    const ofTheShell = 'USER'
    expect(used.filter(name => name !== ofTheShell && !told.includes(name))).toEqual([])
  })
})

describe.skipIf(!found.found)(`the lines that fit the rules to another place${why}`, () => {
  it('E20: change the prefix and the address of the runbooks, and nothing else', async () => {
    await withTempFolder(async dir => {
      const page = readFileSync(join(ROOT, 'docs/deploy/prometheus.md'), 'utf8')
      const [, script = ''] = /```sh fit\n([\s\S]*?)```/.exec(page) ?? []
      execFileSync('bash', ['-ec', script.replaceAll(' deploy/', ` ${ROOT}deploy/`)], { cwd: dir })
      const fitted = readFileSync(join(dir, 'shop.rules.yaml'), 'utf8')
      expect(fitted).not.toContain('lazaret_')
      const { code } = await promtool(['check', 'rules', join(dir, 'shop.rules.yaml')])
      expect(code).toBe(0)
      expect(
        fitted.replaceAll('shop_', 'lazaret_').replaceAll('https://git.example/ops/docs/', 'docs/'),
      ).toBe(readFileSync(RULES, 'utf8'))
    })
  })
})
