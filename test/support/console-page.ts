import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { ROOT } from './source.ts'

export const BUILT_CONSOLE = join(ROOT, 'dist/console')
const SOURCES = ['console/src', 'console/public', 'console/index.html', 'console/vite.config.ts']

/** The tests look at what is served, so it has to be built from what is there. */
export function expectFreshConsole(): void {
  expectFresh('dist/console', join(BUILT_CONSOLE, 'index.html'), SOURCES)
}

/** The same for tests that run the built command. */
export function expectFreshCommand(): void {
  expectFresh('dist', join(ROOT, 'dist/cli/main.js'), ['src'])
}

function expectFresh(name: string, file: string, sources: readonly string[]): void {
  const built = timeOf(file)
  const changed = sources.map(path => newestBelow(join(ROOT, path))).find(({ at }) => at > built)
  if (changed !== undefined)
    throw new Error(`${name} is older than ${changed.path}; build it first: npm run build`)
}

function newestBelow(path: string): { readonly path: string; readonly at: number } {
  if (!statSync(path).isDirectory()) return { path, at: timeOf(path) }
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const shipped = files
    .map(file => join(file.parentPath, file.name))
    .filter(file => !file.endsWith('.test.ts'))
  return shipped
    .map(file => ({ path: file, at: timeOf(file) }))
    .reduce((newest, file) => (file.at > newest.at ? file : newest))
}

function timeOf(path: string): number {
  try {
    return statSync(path).mtimeMs
  } catch {
    return 0
  }
}

export interface OpenOptions {
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  /** Whether the demo's tour is open at the start. */
  readonly tour?: 'open' | 'shut'
  /** Whether the browser takes a certificate that nobody has signed. */
  readonly ignoresCertificates?: boolean
}

export interface OpenedPage {
  readonly page: Page
  /** What the browser complained about: errors of scripts, refusals of the content policy, failed loads. */
  readonly complaints: readonly string[]
}

/**
 * Every wait in a test ends with what it waits for, so this limit only tells which wait never ended, before the limit of
 * the test does. Playwright's own 30 s passed on a machine with many other tasks.
 */
const WAIT_LIMIT_MS = 300_000

export async function openPage(browser: Browser, options: OpenOptions = {}): Promise<OpenedPage> {
  const { theme = 'light', width = 1_440, height = 900, tour = 'shut', ignoresCertificates = false } = options
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    ignoreHTTPSErrors: ignoresCertificates,
  })
  context.setDefaultTimeout(WAIT_LIMIT_MS)
  await context.addInitScript(
    `localStorage.getItem('lazaret.tour') ?? localStorage.setItem('lazaret.tour', '${tour}')`,
  )
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  return { page, complaints }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds serious or critical on the page as it is, one line each. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  // Once for each document: it is half a megabyte of code.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE)
  const found = await page.evaluate<
    { impact: string; id: string; nodes: { target: string[]; failureSummary: string }[] }[]
  >(
    'axe.run(document, { resultTypes: ["violations"] }).then(result => JSON.parse(JSON.stringify(result.violations)))',
  )
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(node => `${id} at ${node.target.join(' ')}: ${node.failureSummary.replaceAll(/\s+/g, ' ')}`),
    )
}
