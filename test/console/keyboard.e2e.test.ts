import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter } = createFactory({ clock: systemClock })
const LETTERS = [
  ...Array.from({ length: 6 }, () => letter({ channel: 'orders', error: new Error('card declined') })),
  ...Array.from({ length: 4 }, () => letter({ channel: 'emails', error: new Error('mailbox full') })),
]

const opened = consoleInBrowser(() => serveLetters(LETTERS))

async function openLetters(search = ''): Promise<Page> {
  const { page } = await openPage(opened.browser)
  await page.goto(`${opened.server.url}/letters${search}`)
  await page.locator('tbody .row-link').first().waitFor()
  return page
}

function linkOf(page: Page, row: number): Promise<string | null> {
  return page.locator('tbody .row-link').nth(row).getAttribute('href')
}

function hrefInFocus(page: Page): Promise<string | null> {
  return page.locator(':focus').getAttribute('href')
}

inBrowser('the keyboard', () => {
  it('F8: j and k move along the rows, Enter opens one, and Back returns to it', async () => {
    const page = await openLetters()
    await page.keyboard.press('j')
    expect(await hrefInFocus(page)).toBe(await linkOf(page, 0))
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const second = await linkOf(page, 1)
    expect(await hrefInFocus(page)).toBe(second)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${second}`)
    await page.goBack()
    await page.locator('tbody .row-link').first().waitFor()
    await page.keyboard.press('j')
    expect(await hrefInFocus(page)).toBe(await linkOf(page, 2))
  })

  it('F8: x selects rows and r replays the selected ones, or the row in focus', async () => {
    const page = await openLetters()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('2 of 10 letters on this page selected').waitFor()
    await page.keyboard.press('r')
    await page.waitForURL('**/replays/new?ids=*')
    expect(new URL(page.url()).searchParams.get('ids')?.split(',')).toHaveLength(2)
    await page.goBack()
    await page.locator('tbody .row-link').first().waitFor()
    await page.keyboard.press('k')
    const id = (await hrefInFocus(page))?.split('/').at(-1)
    await page.keyboard.press('r')
    await page.waitForURL(`**/replays/new?ids=${id}`)
  })

  it('F8: ? lists the keys, and keys typed into a field are text', async () => {
    const page = await openLetters()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    for (const name of ['Next row', 'Previous row', 'Search', /^Select the row/, /^Replay what/])
      await help.getByRole('rowheader', { name }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await page.keyboard.type('jkxr')
    expect(await page.getByRole('searchbox').inputValue()).toBe('jkxr')
  })

  it('F8: the text of a row can be selected, and a click elsewhere in the row opens it', async () => {
    const page = await openLetters()
    const row = page.locator('tbody tr.linked').filter({ hasText: 'orders' }).first()
    const channel = row.getByText('orders', { exact: true })
    const box = (await channel.boundingBox())!
    await page.mouse.move(box.x + 1, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width, box.y + box.height / 2, { steps: 5 })
    await page.mouse.up()
    expect(await page.evaluate('getSelection().toString()')).toContain('rder')
    expect(new URL(page.url()).pathname).toBe('/letters')
    const first = await row.locator('.row-link').getAttribute('href')
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      row
        .locator('td')
        .last()
        .click({ modifiers: ['ControlOrMeta'] }),
    ])
    await tab.waitForURL(`**${first}`)
    expect(new URL(page.url()).pathname).toBe('/letters')
    await row.locator('td').last().click()
    await page.waitForURL(`**${first}`)
  })

  it('F8: Back undoes one filter after the other', async () => {
    const page = await openLetters()
    await page.getByLabel('Channel').selectOption('emails')
    await page.getByText('4 letters match').waitFor()
    await page.getByRole('searchbox').pressSequentially('mailbox')
    await page.waitForURL(/search=mailbox/)
    await page.goBack()
    await page.waitForURL(/letters\?channel=emails$/)
    await expect.poll(() => page.getByRole('searchbox').inputValue(), { timeout: 60_000 }).toBe('')
    await page.goBack()
    await page.getByText('10 letters match').waitFor()
    expect(await page.getByLabel('Channel').inputValue()).toBe('')
  })

  it('F8: a search keeps the space after its first word', async () => {
    const page = await openLetters('?channel=emails')
    const search = page.getByRole('searchbox')
    await search.fill('mailbox ')
    await page.waitForURL(/search=mailbox$/)
    await page.getByText('4 letters match').waitFor()
    await search.pressSequentially('full')
    await page.waitForURL(/search=mailbox(\+|%20)full/)
    expect(await search.inputValue()).toBe('mailbox full')
  })

  it('F8: a step of the wizard has the focus in its first field, and a reload keeps all that was typed', async () => {
    const page = await openLetters('?channel=orders')
    await page.getByRole('link', { name: /^Replay all/ }).click()
    await page.getByRole('button', { name: 'Next: target and edits' }).press('Enter')
    await page.getByLabel('Target channel').and(page.locator(':focus')).selectOption('emails')
    await page.getByRole('button', { name: 'Next: pace and halt rules' }).press('Enter')
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('1, rest')
    await page.getByRole('button', { name: 'Next: reason and check' }).press('Enter')
    await page.keyboard.type('the bank is back')
    await page.reload()
    expect(await page.getByLabel('Reason for replay').inputValue()).toBe('the bank is back')
    await page.getByText('stages 1, rest; up to 50 per second').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Next: reason and check' }).waitFor()
    await page.goForward()
    expect(await page.getByLabel('Reason for replay').inputValue()).toBe('the bank is back')
    await page.getByRole('button', { name: 'Freeze and check' }).press('Enter')
    await page.waitForURL(/\/replays\/(?!new)/)
    await page.goto(`${opened.server.url}/replays/new?channel=orders&step=check`)
    expect(await page.getByLabel('Reason for replay').inputValue()).toBe('')
  })

  it('F8: an action that removes its own button leaves the focus beside it', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/groups`)
    await page.locator('tbody .row-link').first().click()
    await page.getByRole('button', { name: 'Resolve group' }).press('Enter')
    await page.getByRole('button', { name: 'Reopen group' }).waitFor()
    await page.locator('.page-actions :focus').waitFor()
    await page.goto(`${opened.server.url}/letters`)
    await page.locator('tbody .row-link').first().press('Enter')
    await page.getByRole('button', { name: 'Discard letter…' }).press('Enter')
    await page.keyboard.type('a test order')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Restore letter…' }).waitFor()
    await page.locator('.page-actions :focus').waitFor()
  })
})
