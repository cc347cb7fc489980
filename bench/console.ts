import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../test/services/chromium.ts'
import { startLazaret } from './harness/lazaret-server.ts'
import { withTempFolder } from './harness/load.ts'
import { atMost, type BenchResult, machine, median, row } from './harness/result.ts'
import { type Visit, visitOf } from './harness/visit.ts'

const execute = promisify(execFile)
const FILL = fileURLToPath(new URL('./stores-sqlite-million.ts', import.meta.url))
/** With this interval, thirty days have a million letters. */
const EVERY_MS = 2_592
const ROUNDS = 5
const MOST_MS = 1_000
const MOST_TAB_MB = 50

/** The URL of a screen, and a selector that exists once a person can use it. */
type Screens = Readonly<Record<string, readonly [path: string, sign: string]>>

/** The console with a million letters: the time from the URL to a usable screen, in a browser without a cache. */
export async function run(): Promise<BenchResult> {
  await execute('npm', ['run', 'build'])
  return await withTempFolder(async dir => {
    const path = join(dir, 'million.db')
    await execute(process.execPath, [FILL, path, String(EVERY_MS)])
    const server = await startLazaret(`sqlite:${path}`)
    const browser = await openBrowser()
    try {
      return await measure(browser, server.url)
    } finally {
      await browser.close()
      await server.stop()
    }
  })
}

async function measure(browser: Browser, url: string): Promise<BenchResult> {
  const screens = await screensOf(url)
  const visits = new Map<string, Visit[]>()
  // The first round meets a server with empty caches and is not counted.
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, [path, sign]] of Object.entries(screens)) {
      const visit = await visitOf(browser, url + path, sign)
      if (round > 0) visits.set(name, [...(visits.get(name) ?? []), visit])
    }
  const rows = [...visits].map(([name, all]) =>
    row(
      name,
      'ms',
      all.map(({ ms }) => ms),
    ),
  )
  const tabMb = Math.max(...[...visits.values()].flat().map(each => each.tabMb))
  return {
    bench: 'console',
    machine: machine(),
    rows: [...rows, row('memory of the tab, at most', 'MB', [tabMb])],
    bars: [
      ...rows.map(({ name }) => atMost(name, median(rows, name), MOST_MS)),
      atMost('memory of the tab, MB', tabMb, MOST_TAB_MB),
    ],
  }
}

async function screensOf(url: string): Promise<Screens> {
  const groups = await ask<{ groups: { id: string }[] }>(`${url}/api/v1/groups`)
  const letters = await ask<{ letters: { id: string }[] }>(`${url}/api/v1/dead-letters?limit=1`)
  const rows = 'tbody tr.linked'
  return {
    overview: ['/overview', '.top-groups tbody tr'],
    groups: ['/groups', rows],
    'one group': [`/groups/${groups.groups[0]!.id}`, rows],
    letters: ['/letters', rows],
    'letters of a channel': ['/letters?channel=channel-3', rows],
    'letters by text': ['/letters?search=customer-4711', rows],
    'one letter': [`/letters/${letters.letters[0]!.id}`, 'pre, .timeline'],
    replays: ['/replays', 'main h1'],
    channels: ['/channels', 'tbody tr'],
    audit: ['/audit', 'main h1'],
    settings: ['/settings', 'main h1'],
  }
}

async function ask<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T
}
