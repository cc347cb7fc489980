import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { type DemoProcess, startDemo } from '../support/demo-process.ts'
import { inBrowser } from '../support/in-browser.ts'

let browser: Browser
let demo: DemoProcess
let folder: string
let url: string
beforeAll(async () => {
  expectFreshConsole()
  folder = await mkdtemp(join(tmpdir(), 'lazaret-console-'))
  demo = startDemo(folder, { pace: 1 })
  url = (await demo.told).url
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  demo?.interrupt()
  await demo?.ended
  await rm(folder, { recursive: true, force: true })
})

async function because(page: Page, reason: string, verb: string | RegExp): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/^Reason/).fill(reason)
  await dialog.getByRole('button', { name: verb, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

async function audited(page: Page, action: string, reason: string): Promise<void> {
  await page.goto(`${url}/audit?action=${action}`)
  await page.getByText(reason).first().waitFor()
}

inBrowser('what can be done', () => {
  it('E16: a breaker is forced and reset, a consumer paused and resumed, each with its reason', async () => {
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/channels`)
    const row = page.getByRole('row', { name: /send-email/ })
    await row.getByRole('button', { name: 'Force open' }).click()
    await because(page, 'mail provider asked us to stop', 'Force breaker open')
    await row.getByText('forced open').waitFor()
    await row.getByRole('button', { name: 'Reset breaker' }).click()
    await because(page, 'they are back', 'Reset breaker')
    await row.getByText('forced open').waitFor({ state: 'detached' })
    await row.getByRole('button', { name: 'Pause' }).click()
    await because(page, 'a look at the queue', 'Pause consumer')
    await row.getByText('Not consuming: paused manually').waitFor()
    await row.getByRole('button', { name: 'Resume' }).click()
    await because(page, 'looked', 'Resume consumer')
    await row.getByText('paused manually').waitFor({ state: 'detached' })
    await audited(page, 'consumer.pause', 'a look at the queue')
    expect(complaints).toEqual([])
  })

  it('F8: a group is owned, noted, muted, resolved and reopened', async () => {
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/groups?search=insufficient`)
    await page.getByRole('link', { name: /insufficient funds/ }).click()
    await page.getByRole('button', { name: 'Change owner or ticket' }).click()
    await page.getByLabel('Owner').fill('mira')
    await page.getByLabel('Ticket').fill('https://tickets.example.com/7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'https://tickets.example.com/7' }).waitFor()
    await page.getByRole('link', { name: /^Notes/ }).click()
    await page.getByLabel('Note', { exact: true }).fill('Cards do run out of money.')
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.getByText('Cards do run out of money.').last().waitFor()
    await page.getByRole('button', { name: 'Mute group…' }).click()
    await page.getByRole('dialog').getByLabel('Duration').selectOption('7d')
    await page.getByRole('dialog').getByRole('button', { name: 'Mute group' }).click()
    await page
      .locator('.page-head')
      .getByText(/muted, ends in 6 d|muted, ends in 7 d/)
      .waitFor()
    await page.getByRole('button', { name: 'Reopen group' }).click()
    await page.locator('.page-head').getByText('open', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Resolve group' }).click()
    await page.locator('.page-head').getByText('resolved', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Audit' }).last().click()
    await page
      .getByRole('cell', { name: /^group\./ })
      .first()
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('B13: one letter is edited, its diff shown, and what fits is what the gates let through', async () => {
    const { page } = await openPage(browser)
    await page.goto(`${url}/letters?reason=schema&state=dead`)
    await page.locator('tbody .row-link').first().click()
    await page.getByRole('link', { name: 'Edit or replay letter' }).click()
    await page.getByRole('button', { name: 'Next: target and edits' }).click()
    await page.getByText('Apply a JSON Patch').click()
    await page.getByLabel('JSON Patch (RFC 6902)').waitFor()
    expect(await page.locator('[aria-invalid], .fault, [role=alert]').count()).toBe(0)
    await page.getByRole('button', { name: 'Reveal and edit payload…' }).click()
    await because(page, 'a quantity as a word', 'Reveal payload')
    const payload = page.getByLabel('Payload', { exact: true })
    const text = await payload.inputValue()
    await payload.fill(text.replace(/"quantity": "\w+"/, '"quantity": 2'))
    const diff = page.getByRole('region', { name: 'Payload before and after' })
    await diff.getByText('"quantity": 2').waitFor()
    expect(await diff.locator('.line.gone, .line.new').count()).toBe(2)
    for (const next of ['pace and halt rules', 'reason and check'])
      await page.getByRole('button', { name: `Next: ${next}` }).click()
    await page.getByLabel('Reason for replay').fill('the partner meant two')
    await page.getByRole('button', { name: 'Freeze and check' }).click()
    await page.getByText('of 1 will be sent').waitFor()
    await page.getByText('"path":"/items/0/quantity"').first().waitFor()
    await page.getByRole('button', { name: 'Start: send 1 letter' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Start: send 1 letter' }).click()
    await page.locator('.page-head').getByText('finished').waitFor()
    await page.getByRole('img', { name: '1 recovered' }).first().waitFor()
  })

  it('B11: a replay that runs can be paused, resumed and cancelled', async () => {
    const { page } = await openPage(browser)
    await page.goto(`${url}/replays/new?channel=emails&state=dead`)
    for (const next of ['target and edits', 'pace and halt rules'])
      await page.getByRole('button', { name: `Next: ${next}` }).click()
    await page.getByLabel('Stages', { exact: true }).fill('rest')
    await page.getByLabel('Maximum letters per second').fill('0.5')
    await page.getByLabel('Halt if more than').fill('100')
    await page.getByLabel('Halt immediately').uncheck()
    await page.getByLabel('Skip letters older than').fill('7d')
    await page.getByRole('button', { name: 'Next: reason and check' }).click()
    await page.getByLabel('Reason for replay').fill('slowly')
    await page.getByRole('button', { name: 'Freeze and check' }).click()
    await page.getByRole('button', { name: /^Start: send/ }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Start: send/ })
      .click()
    await page.getByRole('button', { name: 'Pause replay' }).click()
    await because(page, 'a breath', 'Pause replay')
    await page.getByText('Replay paused.').waitFor()
    await page.getByText('a breath').waitFor()
    await page.getByRole('button', { name: 'Resume replay' }).click()
    await because(page, '', 'Resume replay')
    await page.locator('.page-head').getByText('running').waitFor()
    await page.getByRole('button', { name: 'Cancel replay' }).click()
    await because(page, 'enough', 'Cancel replay')
    await page.getByText('Replay cancelled.').waitFor()
  })

  it('F8: a letter is discarded and restored; a purge deletes what was counted, or nothing', async () => {
    const { page } = await openPage(browser)
    await page.goto(`${url}/letters?channel=warehouse&state=dead`)
    await page.locator('tbody .row-link').first().click()
    await page.getByRole('button', { name: 'Discard letter…' }).click()
    await because(page, 'shipped by hand', 'Discard letter')
    await page.locator('.page-head').getByText('discarded', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Restore letter…' }).click()
    await because(page, 'it was not', 'Restore letter')
    await page.locator('.page-head').getByText('dead', { exact: true }).waitFor()

    await page.goto(`${url}/letters?state=resolved&channel=warehouse`)
    const purge = page.getByRole('button', { name: 'Delete all matching…' })
    await purge.click()
    const verb = await page
      .getByRole('dialog')
      .locator('button.danger, button[type=button].danger')
      .innerText()
    expect(verb).toMatch(/^Delete [1-9]\d* letters?$/)
    await because(page, 'long done', verb)
    await page.getByRole('heading', { name: 'No letter matches' }).waitFor()
    await audited(page, 'letters.purge', 'long done')
  })
})
