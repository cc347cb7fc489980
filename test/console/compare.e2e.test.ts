import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter, event } = createFactory({ clock: systemClock })
const NOW = systemClock.now()
const LETTERS = ['DE', 'FR', 'IT'].map((country, index) =>
  withStack({
    error: new TypeError('no total'),
    at: NOW - 60_000 + index * 1_000,
    release: `2.${3 + index}.0`,
    event: event({
      payload: { country, password: `secret-of-${country}`, items: [{ sku: 'a-1' }] },
      headers: { tenant: country === 'DE' ? 'acme' : 'globex' },
    }),
  }),
)
const [GERMAN, FRENCH] = LETTERS.map(({ id }) => id)

/** As the option `keepStack` keeps it. */
function withStack(options: Parameters<typeof letter>[0]) {
  const made = letter(options)
  const stack = 'TypeError: no total\n    at bill (/srv/shop/bill.ts:1:1)'
  return { ...made, cycle: { ...made.cycle, failure: { ...made.cycle.failure!, stack } } }
}

const opened = consoleInBrowser(() => serveLetters(LETTERS))

inBrowser('two letters', () => {
  it('F8: are selected and compared without a mouse, and a reload shows the same', async () => {
    const { page, complaints } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters`)
    await page.locator('tbody .row-link').nth(2).waitFor()
    // The newest is first: the second and the third row are France and Germany.
    for (const key of ['j', 'j', 'x', 'j', 'x']) await page.keyboard.press(key)
    await page.getByText('2 of 3 letters on this page selected').waitFor()
    await page.keyboard.press('c')
    await page.waitForURL('**/letters/compare?*')
    const address = new URL(page.url())
    // The one that failed earlier is the first.
    expect(Object.fromEntries(address.searchParams)).toEqual({ first: GERMAN, second: FRENCH })
    const payload = page.getByRole('region', { name: 'Payload of the first and of the second letter' })
    await payload.waitFor()
    const lines = await payload.locator('.gone, .new').allInnerTexts()
    expect(lines.map(line => line.trim())).toEqual([
      expect.stringContaining('"country": "DE"'),
      expect.stringContaining('"country": "FR"'),
    ])
    await page.reload()
    await payload.waitFor()
    expect(page.url()).toBe(address.href)
    const release = page.getByRole('row', { name: /^release/ })
    expect(await release.getByRole('cell').allInnerTexts()).toEqual(['2.3.0', '2.4.0'])
    await page.getByText('The stacks are equal.').waitFor()
    await page.getByRole('link', { name: 'Swap letters' }).click()
    await page.waitForURL(url => url.searchParams.get('first') === FRENCH)
    expect(complaints).toEqual([])
  })

  it('F8: masked values stay masked, and whether they are equal is not said', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters/compare?first=${GERMAN}&second=${FRENCH}`)
    await page.getByText('Masked values (***) are not compared.').waitFor()
    const text = await page.locator('main').innerText()
    expect(text).not.toContain('secret-of')
    expect(await page.locator('.gone, .new').filter({ hasText: 'password' }).count()).toBe(0)
  })

  it('F8: of a group are compared from the screen of the group, on a phone too', async () => {
    const { page } = await openPage(opened.browser, { width: 390 })
    const group = ((await (await fetch(`${opened.server.url}/api/v1/groups`)).json()) as Groups).groups[0]!.id
    await page.goto(`${opened.server.url}/groups/${group}`)
    await page.getByLabel(`Select letter ${GERMAN}`).check()
    const compare = page.getByRole('button', { name: 'Compare selected' })
    expect(await compare.getAttribute('aria-disabled')).toBe('true')
    await page.getByLabel(`Select letter ${FRENCH}`).check()
    await page.getByRole('link', { name: 'Compare selected' }).click()
    await page.getByRole('heading', { name: 'Compare letters' }).waitFor()
    await page.getByText('Same cause: TypeError').waitFor()
    await page.getByRole('link', { name: 'View group' }).click()
    await page.waitForURL(`**/groups/${group}`)
  })

  it('F8: one that does not exist is an error with a retry, and one alone is explained', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/letters/compare?first=${GERMAN}&second=nobody`)
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    await page.goto(`${opened.server.url}/letters/compare?first=${GERMAN}`)
    await page.getByRole('heading', { name: 'Select two letters' }).waitFor()
  })
})

interface Groups {
  readonly groups: readonly { readonly id: string }[]
}
