import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser } from '../services/chromium.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { type DemoProcess, startDemo } from '../support/demo-process.ts'
import { inBrowser } from '../support/in-browser.ts'

let browser: Browser
let demo: DemoProcess
let folder: string
let url: string
beforeAll(async () => {
  expectFreshConsole()
  folder = await mkdtemp(join(tmpdir(), 'lazaret-console-'))
  demo = startDemo(folder)
  url = (await demo.told).url
  browser = await openBrowser()
  await untilHalted()
})
afterAll(async () => {
  await browser?.close()
  demo?.interrupt()
  await demo?.ended
  await rm(folder, { recursive: true, force: true })
})

async function ask<T>(path: string): Promise<T> {
  return (await (await fetch(`${url}/api/v1${path}`)).json()) as T
}

/** The stream tells of every change; the one waited for is a replay that halted. */
async function untilHalted(): Promise<void> {
  const { body } = await fetch(`${url}/api/v1/stream`)
  for await (const _ of body!) {
    const { replays } = await ask<{ replays: unknown[] }>('/replays?state=halted')
    if (replays.length > 0) return
  }
}

interface Places {
  readonly group: string
  readonly letter: string
  readonly replay: string
}

const SCREENS = {
  overview: () => '/overview',
  groups: () => '/groups',
  'groups, none matching': () => '/groups?search=nothing-like-this',
  group: ({ group }) => `/groups/${group}`,
  'notes of a group': ({ group }) => `/groups/${group}?tab=notes`,
  'replays of a group': ({ group }) => `/groups/${group}?tab=replays`,
  letters: () => '/letters',
  letter: ({ letter }) => `/letters/${letter}`,
  'cycles of a letter': ({ letter }) => `/letters/${letter}?tab=cycles`,
  'no such letter': () => '/letters/nobody',
  replays: () => '/replays',
  replay: ({ replay }) => `/replays/${replay}`,
  plan: ({ group }) => `/replays/new?group=${group}`,
  channels: () => '/channels',
  services: () => '/services',
  audit: () => '/audit',
  settings: () => '/settings',
  'no such screen': () => '/nowhere',
} satisfies Record<string, (places: Places) => string>
type Screen = keyof typeof SCREENS
const NAMES = Object.keys(SCREENS) as Screen[]

async function addressOf(screen: Screen): Promise<string> {
  const { groups } = await ask<{ groups: { id: string; count: number }[] }>('/groups?search=TypeError')
  const group = groups[0]!.id
  const { letters } = await ask<{ letters: { id: string }[] }>(`/dead-letters?group=${group}&limit=1`)
  const { replays } = await ask<{ replays: { id: string }[] }>('/replays?state=halted')
  return url + SCREENS[screen]({ group, letter: letters[0]!.id, replay: replays[0]!.id })
}

async function settled(page: Page): Promise<void> {
  await page.locator('h1, h2').first().waitFor()
  await page.locator('main:not(:has(.waiting))').waitFor({ state: 'attached' })
}

for (const theme of ['light', 'dark'] as const)
  inBrowser(`every screen, ${theme}`, () => {
    // One test for each screen: the time that a test may take is then far from what a screen takes.
    let page: Page
    beforeAll(async () => {
      page = (await openPage(browser, { theme, tour: 'open' })).page
    })

    it.each(NAMES)('F8: %s has no serious accessibility problem in any theme or width', async screen => {
      await page.goto(await addressOf(screen))
      await settled(page)
      expect(await accessibilityViolations(page)).toEqual([])
    })

    it('F8: nor have its dialogs and the steps of a plan', async () => {
      const { page } = await openPage(browser, { theme })
      await page.goto(await addressOf('letter'))
      await page.getByRole('button', { name: 'Reveal payload…' }).click()
      await page.getByRole('dialog').waitFor()
      expect(await accessibilityViolations(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
      expect(await accessibilityViolations(page)).toEqual([])
      await page.goto(await addressOf('plan'))
      for (const next of ['target and edits', 'pace and halt rules', 'reason and check']) {
        await page.getByRole('button', { name: `Next: ${next}` }).click()
        expect(await accessibilityViolations(page)).toEqual([])
      }
    })
  })

inBrowser('a narrow window', () => {
  it('F8: shows every screen without scrolling sideways', async () => {
    const { page } = await openPage(browser, { width: 900 })
    const wide: string[] = []
    for (const screen of NAMES) {
      await page.goto(await addressOf(screen))
      await settled(page)
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (overflow > 0) wide.push(`${screen}: ${overflow} px`)
    }
    expect(wide).toEqual([])
  })
})
