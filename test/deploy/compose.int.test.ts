import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { COMMANDS } from '../../src/cli/commands.ts'
import { parse as parseCommand } from '../../src/cli/parse.ts'
import { parseConfig } from '../../src/config/config.ts'
import { amtool, findAlertmanager } from '../services/alertmanager.ts'
import { findPrometheus, promtool } from '../services/prometheus.ts'
import { startDemo } from '../support/demo-process.ts'
import { withTempFolder } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'
import { ALERTS } from './rules.ts'

// Tests have no container engine: no image was built or pulled here. The test checks what it can check without one.
const FOLDER = join(ROOT, 'deploy')
const read = (path: string) => readFileSync(join(FOLDER, path), 'utf8')

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly secrets?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly restart?: string
  readonly healthcheck: { readonly test?: readonly string[]; readonly disable?: boolean }
}

const compose = parse(read('compose.yaml'))
const services: Readonly<Record<string, Service>> = compose.services
const each = Object.entries(services)
const isOurs = ([, { image }]: readonly [string, Service]) => image === 'lazaret:local'

/** What make-env.sh writes, in a folder that is gone afterwards. */
async function environment(): Promise<Record<string, string>> {
  return withTempFolder(async dir => {
    copyFileSync(join(FOLDER, 'make-env.sh'), join(dir, 'make-env.sh'))
    execFileSync(join(dir, 'make-env.sh'), { cwd: dir })
    expect(() => execFileSync(join(dir, 'make-env.sh'), { cwd: dir, stdio: 'pipe' })).toThrow(
      /is there already/,
    )
    expect(statSync(join(dir, '.env')).mode & 0o077, 'only its owner reads it').toBe(0)
    const lines = readFileSync(join(dir, '.env'), 'utf8').matchAll(/^(\w+)=(.*)$/gm)
    return Object.fromEntries([...lines].map(([, name, value]) => [name!, value!]))
  })
}

describe('the compose file', () => {
  it('F7: starts everything there is to try, each with a health check and a pinned image', () => {
    expect(Object.keys(services).sort()).toEqual(
      'alertmanager demo grafana migrate postgres prometheus rabbitmq redis server'.split(' '),
    )
    for (const [name, { image, healthcheck, restart }] of each) {
      expect(image, name).toMatch(/^lazaret:local$|:v?\d+\.\d+(\.\d+)?(-management)?$/)
      if (name === 'migrate') expect(restart).toBe('on-failure')
      else expect(healthcheck.test?.[0], name).toBe('CMD')
    }
  })

  it('F7: publishes on the loopback address alone, every port once', () => {
    const published = each.flatMap(([, { ports = [] }]) => ports)
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    const taken = published.map(port => port.split(':')[1])
    expect(new Set(taken).size).toBe(taken.length)
  })

  it('F7: mounts what is there, keeps data in volumes that are named, and waits for what is healthy', () => {
    for (const [name, { volumes = [], secrets = [], depends_on = {} }] of each) {
      for (const volume of volumes) {
        const [source = '', , mode] = volume.split(':')
        if (!source.startsWith('.')) expect(Object.keys(compose.volumes), volume).toContain(source)
        else expect([existsSync(join(FOLDER, source)), mode], volume).toEqual([true, 'ro'])
      }
      for (const secret of secrets) expect(Object.keys(compose.secrets), name).toContain(secret)
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const isOnce = services[other]!.healthcheck.disable === true
        expect(condition, `${name} → ${other}`).toBe(
          isOnce ? 'service_completed_successfully' : 'service_healthy',
        )
      }
    }
  })

  it('F7: has no secret in it, and make-env.sh makes every one that it asks for', async () => {
    const made = await environment()
    const asked = new Set([...read('compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name!))
    for (const { environment: name } of Object.values<{ environment: string }>(compose.secrets))
      asked.add(name)
    expect([...asked].filter(name => !(name in made))).toEqual([])
    for (const [, { environment: given = {} }] of each)
      for (const [name, value] of Object.entries(given))
        if (/PASS|TOKEN|AUTH|SHA256/.test(name))
          expect(value, name).toMatch(/^\$\{\w+:\?run deploy\/make-env\.sh first\}$/)
    const hash = (token: string) => createHash('sha256').update(token).digest('hex')
    expect(made['LAZARET_ADMIN_SHA256']).toBe(hash(made['LAZARET_ADMIN_TOKEN']!))
    expect(made['LAZARET_SCRAPE_SHA256']).toBe(hash(made['LAZARET_SCRAPE_TOKEN']!))
    expect(read('../.gitignore')).toMatch(/^\.env$/m)
    expect(read('../.dockerignore')).toMatch(/^\*\*\/\.env$/m)
  })

  it('F7: gives the server a config that it takes, with the variables it reads', async () => {
    const made = await environment()
    const given = Object.keys(services['server']!.environment!)
    const env = Object.fromEntries(given.map(name => [name, made[name]]))
    const config = parseConfig(read('lazaret.yaml'), 'lazaret.yaml', env)
    expect(config.server).toMatchObject({ host: '0.0.0.0', allowedHosts: ['server'] })
    expect(config.collectors).toMatchObject({ rabbitmq: { store: 'postgres' } })
    for (const name of given) expect(read('lazaret.yaml')).toContain(`\${${name}}`)
  })

  it('F8: types commands that there are', () => {
    for (const [name, { command = [] }] of each.filter(isOurs))
      if (command.length > 0) expect(() => parseCommand(command, 0), name).not.toThrow()
    const [, typed = ''] = /^CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? []
    expect(() => parseCommand(JSON.parse(typed), 0)).not.toThrow()
    expect(COMMANDS.some(({ name }) => name === 'serve')).toBe(true)
  })

  it('E20: shows Grafana the dashboards, and the Prometheus that is there', () => {
    const { volumes = [], environment: given = {} } = services['grafana']!
    const { path } = parse(read('grafana/provisioning/dashboards/lazaret.yaml')).providers[0].options
    const mounted = volumes.find(volume => volume.split(':')[1] === path)!
    const home = given['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH']!.replace(path, mounted.split(':')[0]!)
    expect(existsSync(join(FOLDER, home))).toBe(true)
    const [{ url }] = parse(read('grafana/provisioning/datasources/prometheus.yaml')).datasources
    expect(Object.keys(services)).toContain(new URL(url).hostname)
  })
})

describe('the Dockerfile', () => {
  it('F7: is not root at its end, has a health check, and the clients that the tests ran with', () => {
    const text = read('Dockerfile')
    const last = text.slice(text.lastIndexOf('\nFROM '))
    expect(last).toMatch(/^USER node$/m)
    expect(last).toMatch(/^HEALTHCHECK /m)
    const { devDependencies, engines } = JSON.parse(read('../package.json'))
    for (const [, name, version] of text.matchAll(/\b(pg|redis|amqplib)@([\d.]+)/g))
      expect(version, name).toBe(devDependencies[name!])
    const images = [...text.matchAll(/^FROM node:(\d+\.\d+\.\d+)-/gm)].map(([, version]) => version)
    expect(images).toEqual([devDependencies.node, devDependencies.node, devDependencies.node])
    expect(engines.node).toBe('>=22.13')
  })
})

const tools = [await findPrometheus(), await findAlertmanager()]
const why = tools.every(tool => tool.found) ? '' : ' (skipped: it needs Prometheus and Alertmanager)'

describe.skipIf(why !== '')(`what watches in the compose file${why}`, () => {
  it('E20: Prometheus takes its config', async () => {
    // Secrets are there in the container alone.
    const { code, text } = await promtool([
      'check',
      'config',
      '--syntax-only',
      join(FOLDER, 'prometheus/prometheus.yaml'),
    ])
    expect({ code, text }).toMatchObject({ code: 0 })
    const { scrape_configs } = parse(read('prometheus/prometheus.yaml'))
    for (const { authorization, static_configs } of scrape_configs) {
      const secret = authorization.credentials_file.replace('/run/secrets/', '')
      expect(services['prometheus']!.secrets).toContain(secret)
      const [target] = static_configs[0].targets
      expect(Object.keys(services)).toContain(target.split(':')[0])
    }
  })

  it('E20: Alertmanager takes its config, and pages for what is critical', async () => {
    const file = join(FOLDER, 'alertmanager/alertmanager.yaml')
    expect(await amtool(['check-config', file])).toMatchObject({ code: 0 })
    for (const [severity, receiver] of [
      ['critical', 'page'],
      ['warning', 'look'],
    ] as const) {
      const { text } = await amtool([
        'config',
        'routes',
        'test',
        `--config.file=${file}`,
        `severity=${severity}`,
      ])
      expect(text.split('\n')[0]).toBe(receiver)
    }
    const named = [...read('alertmanager/alertmanager.yaml').matchAll(/alertname = (\w+)/g)].map(
      ([, name]) => name,
    )
    expect(named.filter(name => !ALERTS.some(({ alert }) => alert === name))).toEqual([])
  })
})

describe('the demo where others can reach it', () => {
  afterEach(() => vi.unstubAllEnvs())

  it('F8: asks for the token that it was given', async () => {
    vi.stubEnv('LAZARET_DEMO_TOKEN', 'known-before')
    await withTempFolder(async dir => {
      const demo = startDemo(dir, { args: ['--host', '0.0.0.0', '--port', '0'] })
      const { port } = new URL((await demo.told).url)
      const ask = async (headers: Record<string, string>) =>
        (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).status
      expect(await ask({})).toBe(401)
      expect(await ask({ authorization: 'Bearer known-before' })).toBe(200)
      demo.interrupt()
      await demo.ended
    })
  })
})
