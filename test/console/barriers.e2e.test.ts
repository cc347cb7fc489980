import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser } from '../services/chromium.ts'
import { barriersOn, expectFreshConsole, openPage } from '../support/console-page.ts'
import { type DemoProcess, startDemo } from '../support/demo-process.ts'
import { inBrowser } from '../support/in-browser.ts'

const PATIENCE_MS = 120_000

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
}, PATIENCE_MS)
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

async function screens(): Promise<Record<string, string>> {
  const { groups } = await ask<{ groups: { id: string; count: number }[] }>('/groups?search=TypeError')
  const group = groups[0]!.id
  const { letters } = await ask<{ letters: { id: string }[] }>(`/dead-letters?group=${group}&limit=1`)
  const { replays } = await ask<{ replays: { id: string }[] }>('/replays?state=halted')
  return {
    overview: '/overview',
    groups: '/groups',
    'groups, none matching': '/groups?search=nothing-like-this',
    group: `/groups/${group}`,
    'notes of a group': `/groups/${group}?tab=notes`,
    'replays of a group': `/groups/${group}?tab=replays`,
    letters: '/letters',
    letter: `/letters/${letters[0]!.id}`,
    'cycles of a letter': `/letters/${letters[0]!.id}?tab=cycles`,
    'no such letter': '/letters/nobody',
    replays: '/replays',
    replay: `/replays/${replays[0]!.id}`,
    plan: `/replays/new?group=${group}`,
    channels: '/channels',
    audit: '/audit',
    settings: '/settings',
    'no such screen': '/nowhere',
  }
}

async function settled(page: Page): Promise<void> {
  await page.locator('h1, h2').first().waitFor()
  await page.locator('main:not(:has(.waiting))').waitFor({ state: 'attached' })
}

for (const theme of ['light', 'dark'] as const)
  inBrowser(`every screen, ${theme}`, () => {
    it(
      'F8: has no serious barrier, whoever reads it and however',
      async () => {
        const { page } = await openPage(browser, { theme, tour: 'open' })
        const found: Record<string, readonly string[]> = {}
        for (const [name, path] of Object.entries(await screens())) {
          await page.goto(url + path)
          await settled(page)
          const barriers = await barriersOn(page)
          if (barriers.length > 0) found[name] = barriers
        }
        expect(found).toEqual({})
      },
      PATIENCE_MS,
    )

    it(
      'F8: nor have its dialogs and the steps of a plan',
      async () => {
        const { page } = await openPage(browser, { theme })
        const { plan, letter } = await screens()
        await page.goto(url + letter)
        await page.getByRole('button', { name: 'Reveal payload…' }).click()
        await page.getByRole('dialog').waitFor()
        expect(await barriersOn(page)).toEqual([])
        await page.keyboard.press('Escape')
        await page.keyboard.press('?')
        await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
        expect(await barriersOn(page)).toEqual([])
        await page.goto(url + plan)
        for (const next of ['destination and edits', 'pace and halt rules', 'reason and check']) {
          await page.getByRole('button', { name: `Next: ${next}` }).click()
          expect(await barriersOn(page)).toEqual([])
        }
      },
      PATIENCE_MS,
    )
  })

inBrowser('a narrow window', () => {
  it(
    'F8: shows every screen without scrolling sideways',
    async () => {
      const { page } = await openPage(browser, { width: 900 })
      const wide: string[] = []
      for (const [name, path] of Object.entries(await screens())) {
        await page.goto(url + path)
        await settled(page)
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
        if (overflow > 0) wide.push(`${name}: ${overflow} px`)
      }
      expect(wide).toEqual([])
    },
    PATIENCE_MS,
  )
})
