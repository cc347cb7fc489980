import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { replayOf } from '../../src/testing/conformance/store/replays.ts'
import { createFactory } from '../../src/testing/index.ts'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter } = createFactory({ clock: systemClock })

let browser: Browser
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
})
afterAll(() => browser?.close())

async function letterWithoutConsumer() {
  const dead = letter({ origin: { broker: 'memory', brokerKind: 'memory', queue: 'orders' } })
  const server = await serveLetters([dead])
  const answer = await fetch(`${server.url}/api/v1/replays`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url },
    body: JSON.stringify({ filter: { channel: 'orders' }, reason: 'fixed' }),
  })
  const { id } = (await answer.json()) as { id: string }
  return { ...server, dead, id }
}

inBrowser('a replay that nobody will handle', () => {
  it('B11, K8: says that nobody consumes its channel, and which gates were not checked', async () => {
    const { url, id, close } = await letterWithoutConsumer()
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/replays/${id}`)
    await page.getByText('Nobody consumes the channel orders.').waitFor()
    const schema = page.locator('.gates li', { hasText: 'Schema:' })
    await schema.getByText('not checked here').waitFor()
    expect(await schema.getByText('0 blocked').count()).toBe(0)
    expect(complaints).toEqual([])
    await close()
  })
})

inBrowser('a letter', () => {
  it('B18: names the broker that it came from, and its kind', async () => {
    const origin = { broker: 'shop', brokerKind: 'rabbitmq', queue: 'orders' }
    const dead = letter({ origin })
    const { url, close } = await serveLetters([dead])
    const { page } = await openPage(browser)
    await page.goto(`${url}/letters/${encodeURIComponent(dead.id)}`)
    for (const [name, value] of Object.entries(origin)) {
      const row = page
        .locator('dt', { hasText: new RegExp(`^${name}$`) })
        .locator('xpath=following-sibling::dd[1]')
      expect(await row.first().textContent()).toBe(value)
    }
    await close()
  })
})

inBrowser('a running replay whose letters no process sends', () => {
  it('B18: says why, and since when', async () => {
    const { url, store, close } = await serveLetters([])
    const reason = "the process p1, which has the sink 'crm', did not answer"
    const problem = { reason, since: systemClock.now() - 300_000 }
    // The item belongs to a living process, so the server leaves it.
    const item = { position: 0, letterId: 'l1', decision: 'replay', status: 'sent' } as const
    await store.replays.create(replayOf('stuck', { state: 'running', count: 1, problem }), [item])
    await store.replays.lease('stuck', 'another server', 600_000)
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/replays/stuck`)
    await page.getByText('Nobody sends the letters.').waitFor()
    await page.getByText(`First failure 5 min ago: ${reason}. The server keeps trying.`).waitFor()
    expect(complaints).toEqual([])
    await close()
  })
})

inBrowser('the badge of the groups', () => {
  it('F8: counts groups with waiting letters, and goes when none is left', async () => {
    const { url, store, dead, close } = await letterWithoutConsumer()
    const { page } = await openPage(browser)
    await page.goto(`${url}/groups`)
    await page.getByRole('link', { name: 'Groups 1 open with waiting letters' }).waitFor()
    await store.deadLetters.change(dead.id, { to: 'discarded', at: systemClock.now() })
    await page.getByRole('link', { name: 'Groups', exact: true }).waitFor()
    await close()
  })
})
