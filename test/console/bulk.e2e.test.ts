import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStore } from '../../src/adapters/memory/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import type { DeadLetterStore } from '../../src/ports/dead-letters.ts'
import { createServer } from '../../src/server/index.ts'
import { createFactory } from '../../src/testing/index.ts'
import { openBrowser } from '../services/chromium.ts'
import { changed } from '../support/conformance.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { event, letter } = createFactory({ clock: systemClock })

let browser: Browser
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
})

/** A server whose store stands still after some letters, until the test lets it go on. */
async function heldServer(heldAfter: number) {
  const store = memoryStore()
  for (let index = 0; index < 400; index++) await store.deadLetters.send(letter({ channel: 'orders' }))
  const held = Promise.withResolvers<void>()
  let worked = 0
  const hold = async (count: number) => {
    if (worked >= heldAfter) await held.promise
    worked += count
  }
  const deadLetters = changed<DeadLetterStore>(store.deadLetters, whole => ({
    deleteMany: async seen => {
      await hold(seen.length)
      return whole.deleteMany(seen)
    },
    change: async (id, change) => {
      await hold(1)
      return whole.change(id, change)
    },
  }))
  const server = createServer({ stores: { ...store, deadLetters } })
  const { url, close } = await server.listen({ port: 0 })
  return {
    url,
    store,
    release: () => held.resolve(),
    async close() {
      held.resolve()
      await close()
      await server.close()
      await store.close()
    },
  }
}

async function confirm(page: Page, reason: string, verb: RegExp): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/^Reason/).fill(reason)
  await dialog.getByRole('button', { name: verb }).click()
}

inBrowser('actions on every letter that matches', () => {
  it.each([
    ['purge', 'Delete all matching…', /^Delete 400 letters$/, 'deleted', 'Purge'],
    ['discard', 'Discard…', /^Discard 400 letters$/, 'discarded', 'Discard'],
  ] as const)(
    'F8: a %s shows its progress, and Cancel ends it',
    async (verb, button, confirming, done, noun) => {
      const server = await heldServer(100)
      try {
        const { page, complaints } = await openPage(browser)
        await page.goto(`${server.url}/letters?channel=orders`)
        await page.getByText('400 letters match').waitFor()
        if (verb === 'discard') await page.getByText('More for all matching').click()
        await page.getByRole('button', { name: button }).click()
        await confirm(page, 'load test', confirming)
        await page.getByText(`100 of 400 letters ${done}`).waitFor()
        expect(await page.getByRole('progressbar').getAttribute('value')).toBe('100')
        await page.getByRole('button', { name: `Cancel ${noun.toLowerCase()}` }).click()
        await page.getByRole('heading', { name: `${noun} cancelled` }).waitFor()
        await page.getByText(`At least 100 of 400 letters were ${done}. The others stay.`).waitFor()
        server.release()
        await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
        await page.goto(`${server.url}/audit?action=letters.${verb}.partial`)
        await page.getByText('load test').first().waitFor()
        const { count, byState } = await server.store.deadLetters.stats()
        expect(verb === 'purge' ? count : byState.dead).toBeGreaterThan(0)
        await page.goto(`${server.url}/audit`)
        await page.getByText('load test').first().waitFor()
        expect(await page.getByText('load test').count()).toBe(1)
        expect(complaints).toEqual([])
      } finally {
        await server.close()
      }
    },
  )

  it('F8: a discard of all that match leaves no dead letter, and the list says so', async () => {
    const server = await heldServer(Number.POSITIVE_INFINITY)
    try {
      const { page } = await openPage(browser)
      await page.goto(`${server.url}/letters?state=dead`)
      await page.getByText('More for all matching').click()
      await page.getByRole('button', { name: 'Discard…' }).click()
      await confirm(page, 'load test', /^Discard 400 letters$/)
      await page.getByRole('heading', { name: 'No letter matches' }).waitFor()
      expect((await server.store.deadLetters.stats()).byState).toEqual({ discarded: 400 })
    } finally {
      await server.close()
    }
  })

  it('B9: a discard says which keys stay blocked and what to do, of all that match and of one letter', async () => {
    const origin = { broker: 'kafka', brokerKind: 'kafka' }
    const letters = [1, 2, 3].map(() =>
      letter({ event: event({ key: 'a' }), channel: 'orders', origin, ordering: 'by-key' }),
    )
    const server = await serveLetters(letters)
    try {
      const { page } = await openPage(browser)
      const dialog = page.getByRole('dialog')
      const blocked = async (what: string) => {
        await dialog.getByText(what).waitFor()
        await dialog.getByText('lazaret dlq unblock').waitFor()
        await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
        await dialog.waitFor({ state: 'detached' })
      }
      await page.goto(`${server.url}/letters/${encodeURIComponent(letters[0]!.id)}`)
      await page.getByText('later events of its key wait for it').waitFor()
      await page.getByRole('button', { name: 'Discard letter…' }).click()
      await confirm(page, 'a test order', /^Discard letter$/)
      await blocked(`events of the key of ${letters[0]!.id} still wait`)
      await page.goto(`${server.url}/letters?state=dead`)
      await page.getByText('More for all matching').click()
      await page.getByRole('button', { name: 'Discard…' }).click()
      await confirm(page, 'test orders', /^Discard 2 letters$/)
      await blocked('events of the keys of 2 discarded letters still wait')
    } finally {
      await server.close()
    }
  })

  it('F8: an export is a file with one line for each letter', async () => {
    const server = await heldServer(Number.POSITIVE_INFINITY)
    try {
      const { page } = await openPage(browser)
      await page.goto(`${server.url}/letters`)
      await page.getByText('More for all matching').click()
      await page.getByRole('button', { name: 'Export…' }).click()
      const downloading = page.waitForEvent('download')
      await confirm(page, 'for the report', /^Export 400 letters$/)
      const download = await downloading
      expect(download.suggestedFilename()).toBe('letters.csv')
      const parts: Buffer[] = []
      for await (const part of await download.createReadStream()) parts.push(part as Buffer)
      const lines = Buffer.concat(parts).toString().trim().split('\r\n')
      expect(lines).toHaveLength(401)
      expect(lines[0]).toMatch(/^id,channel,/)
    } finally {
      await server.close()
    }
  })
})
