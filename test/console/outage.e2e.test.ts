import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStore } from '../../src/adapters/memory/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { createServer } from '../../src/server/index.ts'
import { createFactory } from '../../src/testing/index.ts'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
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
    expect(await page.getByText('before the outage').count()).toBe(1)
    await page.getByRole('link', { name: 'Audit', exact: true }).click()
    await page.getByText('Server unreachable', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(1)

    await store.deadLetters.send(letter({ error: new RangeError('during the outage') }))
    const second = createServer({ stores: store })
    const back = await second.listen({ port: listening.port })
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'No audit entries' }).waitFor()
    await page.getByRole('link', { name: /^Groups/ }).click()
    await page.getByText('during the outage').waitFor()
    await back.close()
    await second.close()
    await store.close()
  })
})
