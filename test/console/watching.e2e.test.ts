import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { type ConsoleServer, serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const HOUR_MS = 3_600_000
const HOSTILE = '<img src=x onerror="window.pwned = 1">'

const { letter } = createFactory({ clock: systemClock })
const hostile = Object.assign(new Error('no'), { name: HOSTILE })
const LETTERS = [
  ...Array.from({ length: 9 }, () => letter({ channel: 'orders' })),
  ...Array.from({ length: 3 }, () => letter({ channel: 'orders', error: hostile })),
]

let browser: Browser
let server: ConsoleServer
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
  server = await serveLetters(LETTERS, {
    watch: { everyMs: 1_000, depth: 10, calmAfter: 1, trendOver: 100 },
  })
  await server.store.snapshots!.append(yesterday())
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

/** One each half hour, with ever more letters, up to six. */
function yesterday() {
  const now = systemClock.now()
  return Array.from({ length: 40 }, (_, index) => ({
    v: 1 as const,
    at: now - (40 - index) * (HOUR_MS / 2),
    channel: 'orders',
    depth: Math.ceil((6 * index) / 39),
    overAge: 0,
    averageRetries: 2,
    sampled: 0,
    errors: [],
  }))
}

inBrowser('what waits in a channel', () => {
  it('K7: is drawn over time, with its trend in words, its age, retries and errors', async () => {
    const { page, complaints } = await openPage(browser)
    await page.goto(`${server.url}/channels`)
    const card = page.locator('.watch', { has: page.getByRole('heading', { name: 'orders' }) })
    await card.getByText('rising').waitFor()
    const drawing = card.getByRole('img', {
      name: /Waiting letters over 24 hours: from 0 to 12, highest 12, lowest 0/,
    })
    await drawing.waitFor()
    const steps = (await drawing.locator('.line').getAttribute('d'))!.split('L')
    expect(steps.length).toBeGreaterThan(40)
    await card.getByText('on average').waitFor()
    const errors = card.locator('.watch-errors li')
    expect(await errors.allInnerTexts()).toEqual([
      expect.stringMatching(/75 %/),
      expect.stringMatching(/25 %/),
    ])
    // The console shows every error name as text.
    expect(await errors.nth(1).innerText()).toContain(HOSTILE)
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(await page.locator('main img').count()).toBe(0)
    const group = LETTERS[0]!.cycle.failure!.fingerprint.id
    await errors.nth(0).getByRole('link').click()
    await page.waitForURL(`**/groups/${group}`)
    expect(complaints).toEqual([])
  })

  it('K7: fits into a narrow window', async () => {
    const { page } = await openPage(browser, { width: 390 })
    await page.goto(`${server.url}/channels`)
    await page.locator('.watch-errors').waitFor()
    const wider = await page.evaluate<number>(
      'Math.max(...[...document.querySelectorAll(".watch")].map(card => card.scrollWidth - card.clientWidth))',
    )
    expect(wider).toBe(0)
  })

  it('K7: beyond a limit is an alert on the overview, which is gone when it is over', async () => {
    const { page } = await openPage(browser)
    await page.goto(`${server.url}/overview`)
    const alerts = page.locator('section.panel', { has: page.getByRole('heading', { name: 'Alerts' }) })
    await alerts.getByText('12 letters waiting (limit 10)').waitFor()
    await alerts.getByText(/\w+: 75 % of letters \(limit 50 %\)/).waitFor()
    expect(await alerts.getByRole('link', { name: 'orders' }).first().getAttribute('href')).toMatch(
      /^\/groups/,
    )
    for (const { id } of LETTERS)
      await server.store.deadLetters.change(id, { to: 'discarded', at: systemClock.now() })
    await alerts.getByText('No alerts. Every channel is within its limits.').waitFor()
  })
})
