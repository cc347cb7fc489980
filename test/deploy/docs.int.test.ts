import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { parseConfig } from '../../src/config/config.ts'
import { DEFAULT_GRACE_MS } from '../../src/runtime/option-rules.ts'
import { amtool, findAlertmanager } from '../services/alertmanager.ts'
import { type Found, missing } from '../services/debian.ts'
import { findPrometheus, promtool, runTool } from '../services/prometheus.ts'
import { withTempFolder } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'
import { RULES } from './rules.ts'

const FOLDER = join(ROOT, 'docs/deploy')
const page = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

function blocks(name: string, language: string): readonly string[] {
  return [...page(name).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, text]) => text!,
  )
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
type Manifest = any
const manifests: readonly Manifest[] = blocks('kubernetes.md', 'yaml').flatMap(text =>
  parseAllDocuments(text).map(document => document.toJS()),
)
const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
const GRACE_SECONDS = DEFAULT_GRACE_MS / 1_000

describe('the pages on running it', () => {
  it('F7: every YAML in them is one', () => {
    for (const name of readdirSync(FOLDER))
      for (const text of blocks(name, 'yaml'))
        for (const { errors } of parseAllDocuments(text)) expect(errors, name).toEqual([])
  })

  it('F6: a pod is killed when it does not answer, and never because of a breaker or a store', () => {
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['lazaret', 'orders'])
    for (const { spec } of deployments)
      for (const { livenessProbe, readinessProbe, ports } of spec.template.spec.containers) {
        expect([livenessProbe.httpGet.path, readinessProbe.httpGet.path]).toEqual(['/healthz', '/readyz'])
        expect(ports.map((port: Manifest) => port.name)).toContain(livenessProbe.httpGet.port)
      }
  })

  it('F7: a pod has time to close', () => {
    const orders = deployments.find(({ metadata }) => metadata.name === 'orders')
    for (const { spec } of deployments)
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(GRACE_SECONDS)
    expect(orders.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(GRACE_SECONDS + 5)
  })

  it('F7: what selects pods finds them, and volumes are there', () => {
    for (const { spec } of deployments) {
      const { labels } = spec.template.metadata
      expect(labels).toMatchObject(spec.selector.matchLabels)
      const volumes = spec.template.spec.volumes.map(({ name }: Manifest) => name)
      for (const { volumeMounts } of spec.template.spec.containers)
        for (const { name } of volumeMounts) expect(volumes).toContain(name)
    }
    const apps = deployments.map(({ spec }) => spec.template.metadata.labels.app)
    for (const { kind, spec } of manifests)
      if (kind === 'Service') expect(apps).toContain(spec.selector.app)
      else if (kind === 'PodDisruptionBudget' || kind === 'ServiceMonitor')
        expect(apps).toContain(spec.selector.matchLabels.app)
  })

  it('F7: the config in it is taken', () => {
    const { data } = manifests.find(({ kind }) => kind === 'ConfigMap')
    const sha256 = '0'.repeat(64)
    const env = { POSTGRES_PASSWORD: 'x', LAZARET_ADMIN_SHA256: sha256, LAZARET_SCRAPE_SHA256: sha256 }
    expect(parseConfig(data['lazaret.yaml'], 'lazaret.yaml', env).server.host).toBe('0.0.0.0')
  })

  it('E20: the rules become a PrometheusRule', async () => {
    await withTempFolder(async dir => {
      const [script = ''] = blocks('kubernetes.md', 'sh rule')
      execFileSync('bash', ['-ec', script.replaceAll(' deploy/', ` ${ROOT}deploy/`)], { cwd: dir })
      const made = parse(readFileSync(join(dir, 'lazaret-rules.yaml'), 'utf8'))
      expect(made).toMatchObject({ kind: 'PrometheusRule', metadata: { name: 'lazaret' } })
      expect(made.spec).toEqual(parse(readFileSync(RULES, 'utf8')))
    })
  })
})

const tools = [await findPrometheus(), await findAlertmanager()]
const why = tools.every(tool => tool.found) ? '' : ' (skipped: it needs Prometheus and Alertmanager)'

describe.skipIf(why !== '')(`the configs of what watches${why}`, () => {
  it('E20: are taken by promtool and amtool', async () => {
    await withTempFolder(async dir => {
      const [scraping = '', rules = '', routing = ''] = blocks('prometheus.md', 'yaml')
      const prometheus = join(dir, 'prometheus.yaml')
      await writeFile(prometheus, stringify({ ...parse(scraping), ...parse(rules) }))
      expect(await promtool(['check', 'config', '--syntax-only', prometheus])).toMatchObject({ code: 0 })
      const alertmanager = join(dir, 'alertmanager.yaml')
      await writeFile(alertmanager, routing)
      expect(await amtool(['check-config', alertmanager])).toMatchObject({ code: 0 })
    })
  })
})

/** Part of the system itself, so it is not installed for a test. */
const systemd: Found = existsSync('/usr/bin/systemd-analyze')
  ? { found: true }
  : missing('systemd-analyze', 'it comes with: apt-get install systemd')

describe('the unit file', () => {
  const [unit = ''] = blocks('systemd.md', 'ini')
  const [, ...theirs] = blocks('systemd.md', 'ini')

  it('F7: waits longer than closing takes, and does not read a wrong config again and again', () => {
    expect(unit).toMatch(/^RestartPreventExitStatus=2$/m)
    for (const text of [unit, ...theirs]) {
      const [, seconds] = /^TimeoutStopSec=(\d+)s$/m.exec(text) ?? []
      expect(Number(seconds)).toBeGreaterThan(GRACE_SECONDS)
    }
  })

  it.skipIf(!systemd.found)('F7: systemd finds nothing wrong with it', async () => {
    await withTempFolder(async dir => {
      const file = join(dir, 'lazaret.service')
      await writeFile(
        file,
        unit.replace('/usr/local/bin/lazaret', '/bin/true').replace(/(?<=^(User|Group)=).*$/gm, 'root'),
      )
      expect(await runTool('systemd-analyze', ['verify', '--man=no', file])).toEqual({ code: 0, text: '' })
    })
  })
})
