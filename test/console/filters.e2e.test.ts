import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter, event } = createFactory({ clock: systemClock })
const LETTERS = Array.from({ length: 60 }, (_, index) =>
  letter({
    event: event({
      channel: 'orders',
      payload: { customer: { id: index % 20 } },
      headers: { tenant: index % 2 === 0 ? 'acme' : 'other' },
    }),
    release: index < 30 ? '2.4.0' : '2.4.1',
    attemptCount: 1 + (index % 4),
    error: new Error(index % 3 === 0 ? 'stock is empty' : 'card refused'),
  }),
)

const opened = consoleInBrowser(() => serveLetters(LETTERS))

async function open(page: Page, filters: Readonly<Record<string, string>>): Promise<void> {
  await page.getByText('More filters').click()
  for (const [label, value] of Object.entries(filters)) await page.getByLabel(label).fill(value)
  await page.getByRole('button', { name: 'Apply filters' }).click()
}

inBrowser('filters and saved views', () => {
  it('F8: a field, the release, the error and a date narrow the list together, and a saved view brings it back', async () => {
    const { page, complaints } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters`)
    await page.getByText('60 letters match').waitFor()
    await open(page, { 'Fields of payload, header or metadata': 'header.tenant = acme' })
    await page.getByText('30 letters match').waitFor()
    await open(page, { Release: '2.4.0', 'Error text': 'STOCK', 'Failed from': '2020-01-01T00:00' })
    await page.getByText('5 letters match').waitFor()
    const params = new URL(page.url()).searchParams
    expect(params.get('where')).toBe('header.tenant = acme')
    expect(params.get('release')).toBe('2.4.0')
    expect(params.get('error')).toBe('STOCK')
    expect(Date.parse(params.get('after')!)).toBe(Date.parse('2020-01-01T00:00'))
    await page.goBack()
    await page.getByText('30 letters match').waitFor()
    await page.goForward()
    await page.getByText('5 letters match').waitFor()

    await page.getByRole('button', { name: 'Save view…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('stock of acme')
    await dialog.getByLabel('Share with everyone').check()
    await dialog.getByLabel('Open Letters with this view').check()
    await dialog.getByRole('button', { name: 'Save view', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })

    const { page: other } = await openPage(opened.browser)
    await other.goto(`${opened.server.url}/letters`)
    await other.getByText('60 letters match').waitFor()
    await other
      .getByRole('navigation', { name: 'Saved views' })
      .getByRole('link', { name: 'stock of acme' })
      .click()
    await other.getByText('5 letters match').waitFor()
    await other.goto(`${opened.server.url}/groups`)
    await other
      .getByRole('navigation', { name: 'Screens' })
      .getByRole('link', { name: /^Letters/ })
      .click()
    await other.getByText('5 letters match').waitFor()
    await other.getByRole('button', { name: 'Delete view stock of acme' }).click()
    await other.getByRole('link', { name: 'stock of acme' }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('F8: conditions that cannot be read are refused with an example', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters?where=customer`)
    await page
      .getByText(/give conditions such as/)
      .first()
      .waitFor()
  })
})
