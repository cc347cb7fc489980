import { expect, it } from 'vitest'
import { createMasks } from '../../src/core/dead-letter/masks.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { accessibilityViolations, openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const opened = consoleInBrowser(() => serveLetters([], { masks: createMasks({ names: ['tax_id'] }) }))

inBrowser('the settings', () => {
  it('F8, P2: show which masks apply: those by default, and those of the configuration', async () => {
    const { page, complaints } = await openPage(opened.browser, { width: 390 })
    await page.goto(`${opened.server.url}/settings`)
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
