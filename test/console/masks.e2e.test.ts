import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMasks } from '../../src/core/dead-letter/masks.ts'
import { openBrowser } from '../services/chromium.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { type ConsoleServer, serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

let browser: Browser
let server: ConsoleServer
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
  server = await serveLetters([], { masks: createMasks({ names: ['tax_id'] }) })
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

inBrowser('the settings', () => {
  it('F8, P2: show which masks apply: those by default, and those of the configuration', async () => {
    const { page, complaints } = await openPage(browser, { width: 390 })
    await page.goto(`${server.url}/settings`)
    const panel = page.locator('section.panel').filter({ has: page.getByRole('heading', { name: 'Masks' }) })
    await panel.getByText('on, by default').nth(1).waitFor()
    for (const summary of await panel.locator('summary').all()) await summary.click()
    for (const name of ['*password', '*phone', '*street', 'tax_id', 'card numbers'])
      await panel.getByText(name, { exact: true }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    expect(await accessibilityViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })
})
