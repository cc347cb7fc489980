import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { openPage } from '../support/console-page.ts'
import { serveLetters, tokenFor } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const viewer = tokenFor('vera', 'viewer')
const planner = tokenFor('olaf', 'operator')
const approver = tokenFor('ada', 'operator')

const { letter } = createFactory({ clock: systemClock })
// As a consumer of the memory store writes them: a letter of no broker could not go back to one.
const origin = { broker: 'memory' }
const LETTERS = [letter({ origin }), letter({ origin }), letter({ origin })]

const tokens = [viewer.option, planner.option, approver.option]
const opened = consoleInBrowser(() => serveLetters(LETTERS, { tokens, needsApproval: true }))

async function enter(page: Page, token: string, path = '/'): Promise<void> {
  await page.goto(opened.server.url + path)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
}

/** Every button that may not be pressed, with the reason it gives. */
async function refusals(page: Page): Promise<Record<string, string>> {
  const denied = await page.locator('.denied').all()
  const pairs = await Promise.all(
    denied.map(async each => [
      await each.locator('button').innerText(),
      (await each.getByRole('tooltip', { includeHidden: true }).textContent()) ?? '',
    ]),
  )
  return Object.fromEntries(pairs)
}

inBrowser('a server with tokens', () => {
  it('B10: shows nothing without one, and says when one is wrong', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(opened.server.url)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Token').fill('not-a-token')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The token was not accepted.').waitFor()
    await page.getByLabel('Token').fill(viewer.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Groups' }).waitFor()
    // Kept for the tab, and nowhere else.
    expect(page.url()).not.toContain(viewer.token)
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(viewer.token)
    await page.reload()
    await page.getByRole('heading', { name: 'Groups' }).waitFor()
    // The stream needs the token too.
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('F8: a viewer sees every action, disabled, with the reason', async () => {
    const { page, complaints } = await openPage(opened.browser)
    await enter(page, viewer.token, `/letters/${LETTERS[0]!.id}`)
    await page.getByRole('button', { name: 'Reveal payload…' }).waitFor()
    const onLetter = await refusals(page)
    expect(Object.keys(onLetter)).toEqual(
      expect.arrayContaining(['Discard letter…', 'Edit or replay letter', 'Reveal payload…']),
    )
    for (const why of Object.values(onLetter)) expect(why).toMatch(/viewer/)

    // Pressing changes nothing: no dialog opens, nothing is sent.
    const sent: string[] = []
    page.on('request', request => request.method() !== 'GET' && sent.push(request.url()))
    await page.getByRole('button', { name: 'Reveal payload…' }).click({ force: true })
    await page.getByRole('button', { name: 'Discard letter…' }).press('Enter')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(sent).toEqual([])

    await page.getByRole('link', { name: 'View group' }).click()
    await page.getByRole('button', { name: 'Acknowledge group' }).waitFor()
    expect(Object.keys(await refusals(page))).toEqual(
      expect.arrayContaining(['Acknowledge group', 'Mute group…', 'Resolve group', 'Plan replay']),
    )
    await page.goto(`${opened.server.url}/settings`)
    await page.getByText('Reveal masked payloads').waitFor()
    expect(await page.locator('.permissions').innerText()).toMatch(/Delete letters permanently\s+.*viewer/)
    // Before the token was given, the server refused, as it should.
    expect(complaints.filter(complaint => !complaint.includes('401'))).toEqual([])
  })

  it('B10: a plan is approved by someone else than its planner, who is told so', async () => {
    const { page } = await openPage(opened.browser)
    await enter(page, planner.token, '/replays/new?channel=orders')
    for (const next of ['target and edits', 'pace and halt rules', 'reason and check'])
      await page.getByRole('button', { name: `Next: ${next}` }).click()
    await page.getByText('This server requires a second person').waitFor()
    await page.getByLabel('Reason for replay').fill('the bank is back')
    await page.getByRole('button', { name: 'Freeze and check' }).click()
    await page.getByRole('heading', { name: 'the bank is back' }).waitFor()
    expect(Object.keys(await refusals(page))).toEqual(
      expect.arrayContaining(['Approve replay', 'Start: send 3 letters']),
    )

    const { page: other } = await openPage(opened.browser)
    await enter(other, approver.token, new URL(page.url()).pathname)
    await other.getByRole('button', { name: 'Approve replay' }).click()
    await other.getByRole('dialog').getByRole('button', { name: 'Approve replay' }).click()
    await other.locator('.page-head').getByText('approved', { exact: true }).waitFor()
    await other.getByText('approved by ada').waitFor()
    // The planner's page learns of it by itself.
    await page.getByText('approved by ada').waitFor()
  })
})
