import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser } from '../services/chromium.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { startDemo } from '../support/demo-process.ts'
import { withTempFolder } from '../support/folder.ts'
import { inBrowser } from '../support/in-browser.ts'

let browser: Browser
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
})
afterAll(() => browser?.close())

inBrowser('the console on the demo', () => {
  it('F8/B10/B11/B12: from a broken release to its letters recovered, by hand, as a person on call does it', async () => {
    await withTempFolder(async folder => {
      const demo = startDemo(folder, { pace: 1 })
      try {
        const { url } = await demo.told
        const { page, complaints } = await openPage(browser, { tour: 'open' })
        await page.goto(url)
        await shipsBrokenRelease(page)
        await looksAtGroupAndLetter(page)
        await replaysTooSoon(page)
        await shipsFix(page)
        await replaysAndRecovers(page)
        await findsItInAudit(page)
        await expectAccessible(page, url)
        expect(complaints).toEqual([])
      } finally {
        demo.interrupt()
        await demo.ended
      }
    })
  })
})

async function shipsBrokenRelease(page: Page): Promise<void> {
  // The way in is the groups.
  await page.waitForURL('**/groups')
  await page.getByRole('button', { name: 'Deploy the broken release' }).click()
  const row = page.getByRole('row', { name: /TypeError: Cannot read properties of undefined/ })
  await row.waitFor()
  await row.getByText('open').waitFor()
  expect(await row.innerText()).toContain('Error and first app frame: at feeByCardCountry')
}

async function looksAtGroupAndLetter(page: Page): Promise<void> {
  await page
    .getByRole('link', { name: /TypeError: Cannot read/ })
    .first()
    .click()
  await page.getByRole('heading', { name: 'Common values' }).waitFor()
  await page.getByText('The same error was thrown at the same place in your code.').waitFor()
  await page.getByRole('link', { name: 'payment.requested' }).first().waitFor()
  await page.locator('tbody .row-link').first().click()

  await page.getByRole('heading', { name: 'Replay target' }).waitFor()
  const payload = page.getByRole('region', { name: 'Payload' })
  expect(await payload.innerText()).toContain('"token": "***"')
  await page.getByRole('button', { name: 'Reveal payload…' }).click()
  await page.getByLabel('Reason', { exact: true }).fill('which wallet was it?')
  await page.getByRole('dialog').getByRole('button', { name: 'Reveal payload' }).click()
  await page.getByText('Revealed to you and recorded in the audit log.').waitFor()
  expect(await payload.innerText()).not.toContain('***')
  await page.getByRole('link', { name: 'Audit 1', exact: true }).click()
  await page.getByText('payload.reveal').waitFor()
  await page.getByText('which wallet was it?').waitFor()
  await page.getByRole('link', { name: 'View group' }).click()
}

async function planFromGroup(page: Page, reason: string): Promise<void> {
  await page.getByRole('link', { name: 'Plan replay' }).click()
  await page.getByText(/match now; the selection is fixed/).waitFor()
  await page.getByRole('button', { name: 'Next: target and edits' }).click()
  await page.getByLabel('Target channel').waitFor()
  await page.getByRole('button', { name: 'Next: pace and halt rules' }).click()
  expect(await page.getByLabel('Stages', { exact: true }).inputValue()).toBe('1, 10, 100, rest')
  await page.getByRole('button', { name: 'Next: reason and check' }).click()
  const freeze = page.getByRole('button', { name: 'Freeze and check' })
  expect(await freeze.getAttribute('aria-disabled')).toBe('true')
  await page.getByLabel('Reason for replay').fill(reason)
  await freezeAndCheck(page, freeze)
  const command = await page.locator('.command code').innerText()
  expect(command).toMatch(/^lazaret replay plan .*--group [0-9a-f]{16} .*--reason/)
  await page.getByRole('button', { name: /^Start: send \d+ letters?$/ }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Start: send/ })
    .click()
}

/** About every second payment fails, so the breaker may be open. Then no letter can be sent, and a person tries again. */
async function freezeAndCheck(page: Page, freeze: Locator): Promise<void> {
  const results = page.getByRole('heading', { name: 'Gate results' })
  const refusal = page.getByText(/nothing was planned/)
  await expect
    .poll(
      async () => {
        await freeze.click()
        await results.or(refusal).waitFor()
        return await results.isVisible()
      },
      { timeout: 300_000, interval: 1_000 },
    )
    .toBe(true)
}

async function replaysTooSoon(page: Page): Promise<void> {
  await planFromGroup(page, 'payments look fine again')
  await page.getByText('Halted automatically.').waitFor()
  await page.getByText(/failed again with the same cause: the cause is not fixed/).waitFor()
  const bar = page.getByRole('img', { name: /1 failed again, same cause/ })
  expect(await bar.first().getAttribute('aria-label')).toMatch(
    /^1 failed again, same cause, \d+ not sent yet/,
  )
}

async function shipsFix(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Deploy the fix' }).click()
  await page
    .getByRole('listitem')
    .filter({ hasText: 'Release 2.4.1 fixes the payments' })
    .getByText('(done)')
    .waitFor()
  await page.getByRole('link', { name: /^group [0-9a-f]{16}$/ }).click()
  await page.waitForURL('**/letters?group=*')
  await page.goto(page.url().replace('/letters?group=', '/groups/'))
}

async function replaysAndRecovers(page: Page): Promise<void> {
  await planFromGroup(page, 'wallets are fixed in 2.4.1')
  await page.locator('.page-head').getByText('finished').waitFor()
  await page.getByText('100 %').first().waitFor()
  const bar = await page.locator('.outcomes.large').getAttribute('aria-label')
  expect(bar).toMatch(/^\d+ recovered$/)
  await page.getByText('No new letters since freeze').waitFor()
}

async function findsItInAudit(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Audit', exact: true }).click()
  for (const action of ['payload.reveal', 'replay.plan', 'replay.start', 'demo.fix'])
    await page.getByRole('cell', { name: action, exact: true }).first().waitFor()
}

/** The test of the layout looks at every screen; these two show the most of what the demo has recorded. */
async function expectAccessible(page: Page, url: string): Promise<void> {
  for (const screen of ['overview', 'groups']) {
    await page.goto(`${url}/${screen}`)
    await page.getByRole('heading').first().waitFor()
    await page.locator('main:not(:has(.waiting))').waitFor({ state: 'attached' })
    expect(await accessibilityViolations(page)).toEqual([])
  }
}
