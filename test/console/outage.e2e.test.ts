import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStore } from '../../src/adapters/memory/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { createServer } from '../../src/server/index.ts'
import { createFactory } from '../../src/testing/index.ts'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { hangingProxy } from '../support/hanging-proxy.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter } = createFactory({ clock: systemClock })

let browser: Browser
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
})
afterAll(() => browser?.close())

inBrowser('a server that goes away', () => {
  it('F8: is said to be away, what was seen stays, and all goes on by itself when it is back', async () => {
    const store = memoryStore()
    await store.deadLetters.send(letter({ error: new Error('before the outage') }))
    const first = createServer({ stores: store })
    const listening = await first.listen({ port: 0 })
    const { page } = await openPage(browser)
    await page.goto(`${listening.url}/audit`)
    await page.getByRole('heading', { name: 'No audit entries' }).waitFor()
    await page.getByRole('link', { name: /^Groups/ }).click()
    await page.getByText('before the outage').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()

    await listening.close()
    await first.close()
    await page.getByText('Server unreachable, retrying').waitFor()
    await page.getByText('Out of date.').waitFor()
    expect(await page.getByText('before the outage').count()).toBe(1)
    await page.getByRole('link', { name: 'Audit', exact: true }).click()
    await page.getByText('Server unreachable', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(1)
    await page.getByText('Out of date.').waitFor()
    // A list that was never read has nothing to keep.
    await page.getByRole('link', { name: /^Letters/ }).click()
    await page.getByRole('button', { name: 'Try again' }).first().waitFor()
    expect(await page.locator('main .waiting').count()).toBe(0)

    await store.deadLetters.send(letter({ error: new RangeError('during the outage') }))
    const second = createServer({ stores: store })
    const back = await second.listen({ port: listening.port })
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('Out of date.').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /during the outage/ }).waitFor()
    await page.getByRole('link', { name: 'Audit', exact: true }).click()
    await page.getByRole('heading', { name: 'No audit entries' }).waitFor()
    await page.getByRole('link', { name: /^Groups/ }).click()
    await page.getByText('during the outage').waitFor()
    await back.close()
    await second.close()
    await store.close()
  })

  it('F8: that hangs is said to be away within 5 s, what was seen stays, and all goes on by itself', async () => {
    const { url, store, close } = await serveLetters([letter({ error: new Error('before it hangs') })])
    const proxy = await hangingProxy(Number(new URL(url).port))
    const { page } = await openPage(browser)
    // The test moves the time of the page, so that no wait depends on the speed of the machine.
    await page.clock.install()
    await page.goto(`${proxy.url}/audit`)
    await page.getByRole('heading', { name: 'No audit entries' }).waitFor()
    await page.getByRole('link', { name: /^Groups/ }).click()
    await page.getByText('before it hangs').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()

    proxy.hang()
    await page.clock.runFor(5_000)
    await page.getByText('Server unreachable, retrying').waitFor()
    await page.getByText('Out of date.').waitFor()
    expect(await page.getByText('before it hangs').count()).toBe(1)
    for (const name of [/^Letters/, /^Replays/, /^Channels/, /^Settings/]) {
      await page.getByRole('link', { name }).first().click()
      await page.clock.runFor(5_000)
      await page.getByRole('button', { name: 'Try again' }).first().waitFor()
      expect(await page.locator('main .waiting').count()).toBe(0)
    }

    await store.deadLetters.send(letter({ error: new RangeError('while it hung') }))
    await page
      .getByRole('link', { name: /^Letters/ })
      .first()
      .click()
    proxy.recover()
    await page.clock.runFor(10_000)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('Out of date.').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /while it hung/ }).waitFor()
    await proxy.close()
    await close()
  })

  it('F8: shows an error instead of a screen whose files did not come, and loads them when asked again', async () => {
    const { url, close } = await serveLetters([])
    const { page } = await openPage(browser)
    await page.route('**/audit-screen-*', route => route.abort())
    await page.goto(`${url}/groups`)
    await page.getByRole('link', { name: 'Audit', exact: true }).click()
    await page.getByText('This page could not be loaded').waitFor()
    expect(await page.locator('main .waiting').count()).toBe(0)
    await page.unroute('**/audit-screen-*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'No audit entries' }).waitFor()
    await close()
  })
})
