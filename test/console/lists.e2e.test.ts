import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter } = createFactory({ clock: systemClock })
const LETTERS = [
  ...Array.from({ length: 450 }, () => letter({ channel: 'orders' })),
  ...Array.from({ length: 7 }, () => letter({ channel: 'emails', error: new Error('mailbox full') })),
]

const opened = consoleInBrowser(() => serveLetters(LETTERS))

inBrowser('the list of letters', () => {
  it('F8: keeps only the rows in sight in the page, and none is missing when scrolling', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters`)
    await page.locator('tbody .row-link').first().waitFor()
    const places = new Set<string>()
    for (let at = 0; at <= 200 * 57; at += 500) {
      await page.evaluate(`scrollTo(0, ${at})`)
      await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
      const rows = page.locator('tbody tr.linked')
      expect(await rows.count()).toBeLessThan(60)
      for (const row of await rows.all()) places.add((await row.getAttribute('aria-rowindex')) ?? '')
    }
    expect(places.size).toBe(200)
  })

  it('F8: is asked for once, before the console is drawn', async () => {
    const { page } = await openPage(opened.browser)
    // Polls, the watch for a silent server and data that is out of date ask again after seconds, which a page on a busy
    // machine may take to load. So time stands still in it.
    await page.addInitScript(`
      const at = Date.now()
      Date.now = () => at
      for (const name of ['setTimeout', 'setInterval']) {
        const begin = window[name].bind(window)
        window[name] = (call, ms, ...given) => (ms >= 1000 ? 0 : begin(call, ms, ...given))
      }
    `)
    const asked: string[] = []
    page.on('request', request => {
      const { pathname, search } = new URL(request.url())
      if (pathname.startsWith('/api/v1/')) asked.push(pathname.slice('/api/v1'.length) + search)
    })
    await page.goto(`${opened.server.url}/letters?channel=emails`)
    await page.getByText('7 letters match').waitFor()
    await page.getByLabel('Channel').waitFor()
    expect(asked.slice(0, 3)).toEqual([
      '/dead-letters?channel=emails&limit=200',
      '/dead-letters/stats?channel=emails',
      '/me',
    ])
    expect(asked).toEqual([...new Set(asked)])
  })

  it('F8: every filter is in the URL, and the URL alone brings the same list', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters`)
    await page.getByText('457 letters match').waitFor()
    await page.getByLabel('Channel').selectOption('emails')
    await page.getByText('7 letters match').waitFor()
    await page.getByLabel('State').selectOption('dead')
    await page.getByRole('searchbox').fill('mailbox')
    await page.waitForURL(/search=mailbox/)
    expect(new URL(page.url()).searchParams.toString()).toBe('channel=emails&state=dead&search=mailbox')
    const { page: other } = await openPage(opened.browser)
    await other.goto(page.url())
    await other.getByText('7 letters match').waitFor()
    expect(await other.getByRole('searchbox').inputValue()).toBe('mailbox')
    await other.goto(`${opened.server.url}/letters?search=nobody-knows`)
    await other.getByRole('heading', { name: 'No letter matches' }).waitFor()
    await other.getByRole('link', { name: 'View all letters' }).click()
    await other.getByText('457 letters match').waitFor()
  })

  it('B10: what is selected on this page and all that match are different choices', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters?channel=orders`)
    await page.getByLabel('Select all 200 letters on this page').check()
    await page.getByText('200 of 200 letters on this page selected').waitFor()
    const selected = await page.getByRole('link', { name: 'Replay selected' }).getAttribute('href')
    expect(selected?.split(',')).toHaveLength(200)
    const all = await page.getByRole('link', { name: 'Replay all 450 matching' }).getAttribute('href')
    expect(all).toBe('/replays/new?channel=orders')

    await page.getByRole('link', { name: 'Older letters' }).click()
    await page.waitForURL(/cursor=/)
    // Letters of other pages are not selected.
    await page.getByText('0 of 200 letters on this page selected').waitFor()
    await page.goto(opened.server.url + selected)
    await page.getByText('200 letters').first().waitFor()
    await page.getByText('selected individually').waitFor()
  })

  it('F8: a list does not move under the reader; it says that there is more', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters?channel=emails`)
    await page.getByText('7 letters match').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await opened.server.store.deadLetters.send(letter({ channel: 'emails', error: new Error('newly full') }))
    const notice = page.getByRole('button', { name: 'Show new letters' })
    await notice.waitFor()
    expect(await page.getByText('newly full').count()).toBe(0)
    await notice.click()
    await page.getByText('newly full').waitFor()
  })
})

inBrowser('the keyboard alone', () => {
  it('F8: leads from the groups to a letter and to a planned replay', async () => {
    const { page } = await openPage(opened.browser)
    const { keyboard } = page
    await page.goto(opened.server.url)
    await page.getByRole('heading', { name: 'Groups' }).waitFor()
    await keyboard.press('/')
    await keyboard.type('ECONNREFUSED')
    await page.waitForURL(/search=ECONNREFUSED/)
    await page.getByRole('row', { name: /ECONNREFUSED/ }).waitFor()
    await tabTo(page, /^\/groups\/[0-9a-f]+$/)
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Grouping rule' }).waitFor()
    await tabTo(page, /^\/replays\/new/)
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'New replay' }).waitFor()

    await keyboard.press('g')
    await keyboard.press('l')
    await page.waitForURL('**/letters')
    await page
      .getByRole('row', { name: /ECONNREFUSED/ })
      .first()
      .waitFor()
    await tabTo(page, /^\/letters\/[0-9a-f-]{36}$/)
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Replay target' }).waitFor()
    for (const [key, path] of [
      ['o', 'overview'],
      ['r', 'replays'],
      ['c', 'channels'],
      ['a', 'audit'],
      ['g', 'groups'],
    ]) {
      await keyboard.press('g')
      await keyboard.press(key!)
      await page.waitForURL(`**/${path}`)
    }
    await keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})

/** Presses Tab until a link to this stands in focus, and that the focus can be seen. */
async function tabTo(page: import('playwright-core').Page, href: RegExp): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate<string | null>('document.activeElement.getAttribute("href")')
    if (at === null || !href.test(at)) continue
    const ring = await page.evaluate<string>(
      'getComputedStyle(document.activeElement.closest("tr") ?? document.activeElement).outlineStyle',
    )
    expect(ring).toBe('solid')
    return
  }
  throw new Error(`no link to ${href} in 80 presses of Tab`)
}
