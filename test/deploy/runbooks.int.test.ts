import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/cli/open-store.ts'
import { DEFAULT_CONFIG } from '../../src/config/config.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { findAlertmanager, startAlertmanager } from '../services/alertmanager.ts'
import { findPrometheus, startPrometheus } from '../services/prometheus.ts'
import { cliWorld } from '../support/cli.ts'
import { startDemo } from '../support/demo-process.ts'
import { RULES } from './rules.ts'
import { RUNBOOK_LINES, wordsOf } from './shell-lines.ts'

const run = promisify(execFile)
const found = [await findPrometheus(), await findAlertmanager()]
const isThere = found.every(each => each.found)
const why = isThere ? '' : ' (skipped: it needs Prometheus and Alertmanager)'

type Variables = Record<string, string>
const closings: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closings.reverse()) await close()
})

/** The demo, with a Prometheus and an Alertmanager that watch it. */
async function openShop() {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-runbooks-'))
  closings.push(() => rm(folder, { recursive: true, force: true }))
  const demo = startDemo(folder, { pace: 1, args: ['--port', '0', '--store', `sqlite:${folder}/shop.db`] })
  closings.push(async () => {
    demo.interrupt()
    await demo.ended
  })
  const watcher = await startAlertmanager({ route: { receiver: 'nobody' }, receivers: [{ name: 'nobody' }] })
  closings.push(() => watcher.close())
  const { url, store: storeUrl } = await demo.told
  const store = await openStore(storeUrl, {
    folder,
    config: DEFAULT_CONFIG,
    creates: 'never',
    clock: systemClock,
  })
  closings.push(() => store.close())
  const prometheus = await startPrometheus({
    rule_files: [RULES],
    scrape_configs: [{ job_name: 'lazaret', static_configs: [{ targets: [new URL(url).host] }] }],
  })
  closings.push(() => prometheus.close())
  const api = new Shop(url, store)
  const fixed: Variables = {
    SERVER: url,
    PROMETHEUS: prometheus.url,
    ALERTMANAGER: watcher.url,
    USER: 'ann',
    CHANNEL: 'warehouse',
    NAME: 'ship-order',
    JOB: 'lazaret',
    INSTANCE: new URL(url).host,
    TYPE: 'shipment.requested',
    ERROR: 'TimeoutError',
    BACKGROUND_JOB: 'SendEmailJob',
  }
  return { folder, url: storeUrl, store, api, fixed, prometheus }
}

type OpenStore = Awaited<ReturnType<typeof openStore>>

/** The API of the demo. */
class Shop {
  readonly #url: string
  readonly #store: OpenStore

  constructor(url: string, store: OpenStore) {
    this.#url = url
    this.#store = store
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  async get(path: string): Promise<any> {
    return (await fetch(`${this.#url}/api/v1/${path}`)).json()
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  async post(path: string, body: unknown = {}): Promise<any> {
    const headers = { 'content-type': 'application/json', origin: this.#url }
    const answer = await fetch(`${this.#url}/api/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    expect(answer.ok, `${path}: ${answer.status}`).toBe(true)
    return answer.json()
  }

  async letter(query: string): Promise<{ readonly id: string; readonly group: string }> {
    const { letters } = await this.get(`dead-letters?limit=1&${query}`)
    expect(letters, query).toHaveLength(1)
    return letters[0]
  }

  /** What somebody would find who comes to a page; a day lies behind the shop. */
  readonly ids: Readonly<Record<string, () => Promise<string>>> = {
    LETTER: async () => (await this.letter('channel=emails&state=dead')).id,
    GROUP: async () => {
      await this.repairWarehouse()
      return (await this.letter('channel=warehouse&search=ETIMEDOUT')).group
    },
    POISON: async () => (await this.letter('state=quarantined')).id,
    PARKED: async () => (await this.letter('state=parked')).id,
    REPLAY: async () => (await this.get('replays?limit=1')).replays[0].id,
    RUNNING: () => this.endlessReplay(),
  }

  /** The cause of the group is fixed before its replay: the warehouse answers, and its consumer has reported that it handles events. */
  async repairWarehouse(): Promise<void> {
    await this.post('demo/fix-warehouse')
    const states = async () => {
      const consumers = (await this.#store.fleet!.list()).flatMap(({ report }) => report.consumers)
      return consumers
        .filter(({ channel }) => channel === 'warehouse')
        .map(({ breaker, paused }) => ({ breaker, paused }))
    }
    await expect.poll(states, { timeout: 300_000 }).toEqual([{ breaker: 'closed', paused: [] }])
  }

  /** It runs until somebody stops it: nobody tells what became of what it sent. */
  async endlessReplay(): Promise<string> {
    const filter = { channel: 'orders', state: 'dead' }
    const { id } = await this.post('replays', { filter, reason: 'walking through', to: 'nobody-listens' })
    await this.post(`replays/${id}/start`)
    return id
  }
}

describe.skipIf(!isThere)(`the commands of the runbooks${why}`, () => {
  let shop: Awaited<ReturnType<typeof openShop>>
  beforeAll(async () => {
    shop = await openShop()
  })
  const pages = [...RUNBOOK_LINES].filter(([, lines]) => lines.length > 0)

  it.each(pages)('E20/F/P: %s: every command works as it is written', async (_, lines) => {
    const { folder, url, store, api, fixed, prometheus } = shop
    const { lazaretWith } = cliWorld(folder)
    const real = {
      clock: systemClock,
      random: systemRandom,
      env: { LAZARET_STORE: url },
      // Opened once for all commands: that takes its time.
      openStore: async () => ({ ...store, close: async () => {} }),
    }
    const variables: Variables = { ...fixed }
    for (const line of lines) {
      for (const [name, find] of Object.entries(api.ids))
        if (line.includes(`$${name}`)) variables[name] ??= await find()
      if (line.startsWith('lazaret ')) {
        const { code, out, err } = await lazaretWith(real, ...wordsOf(line, variables).slice(1))
        expect({ line, code, err: code === 0 ? '' : err }).toEqual({ line, code: 0, err: '' })
        // A page that plans what cannot be sent has led its reader astray.
        expect(err, line).not.toContain('there is nothing to send')
        const planned = /^replay (\S+)/.exec(out)
        if (line.includes('replay plan') && planned) variables['REPLAY'] = planned[1]!
      } else if (wasTyped(line)) {
        const query = `/api/v1/query?query=${encodeURIComponent(wordsOf(line, variables).at(-1)!)}`
        if (line.startsWith('promtool '))
          expect(await prometheus.get(query), line).toMatchObject({ status: 'success' })
      } else {
        const env = { ...process.env, ...variables, HOME: folder }
        const { stdout } = await run('bash', ['-euc', line], { cwd: folder, env })
        expect(stdout, line).not.toMatch(/urn:lazaret:problem|^(401|404|421|500)$/m)
      }
    }
  })
})

const typed = new Set<string>()

/**
 * Whether a line of this form was typed before, to spare processes: silences differ in what they match, queries in their
 * expression, and the test sends that expression to Prometheus in any case.
 */
function wasTyped(line: string): boolean {
  const form = /^(promtool query instant \$PROMETHEUS|amtool silence add .* alertname=)/.exec(line)?.[0]
  if (form === undefined) return false
  const isKnown = typed.has(form)
  typed.add(form)
  return isKnown
}
