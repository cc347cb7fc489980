import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { GateCheck, Replay } from '../../src/ports/replays.ts'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { inShop } from './shop/in-shop.ts'
import { end, Shop, type ShopProcess, timing } from './shop/shop.ts'

let shop: Shop
let url: string
let browser: Browser
const living = {} as Record<'orders' | 'stock', ShopProcess>

/** The letters of RabbitMQ are in Postgres, those of Redis Streams in Redis. */
const STORES = { orders: 'shop', stock: 'stock' } as const
const HANDLERS = { orders: 'bill', stock: 'reserve' } as const
const KINDS = ['orders', 'stock'] as const
type Kind = (typeof KINDS)[number]

const lazaret = (words: string, kind: Kind) => shop.lazaret(words, shop.stores[STORES[kind]])

async function countOf(kind: Kind): Promise<number> {
  const { out } = await lazaret(`dlq list --channel ${kind} --json`, kind)
  return out.split('\n').filter(line => line !== '').length
}

beforeAll(async () => {
  expectFreshConsole()
  shop = await Shop.open('orders', 'stock')
  for (const kind of KINDS) {
    living[kind] = await shop.start(kind, { version: '1.4' })
    await shop.publish(kind, 2)
    await shop.publish(kind, 1, { total: 'a lot' })
  }
  url = (await shop.serve()).url
  browser = await openBrowser()
  for (const kind of KINDS)
    await timing.eventually(async () => (await countOf(kind)) === 3, `the letters of ${kind}`)
})
afterAll(async () => {
  await browser?.close()
  await shop?.close()
})

/** The check of the schema gate by the only process of the kind. */
function wordOf(kind: Kind): object {
  const processes = [{ id: living[kind].id, service: kind, version: '1.4' }]
  const answer = { answeredBy: 'fleet', count: 1, processes, saidAt: expect.any(String) }
  return { gate: 'schema', channel: kind, handler: HANDLERS[kind], letters: 3, answer }
}

inShop('the gates of a server and a command line apart from the services', () => {
  it.each(KINDS)('K8: a plan of the command line has the word of the living consumer: %s', async kind => {
    const { code, out } = await lazaret(`replay plan --channel ${kind} --reason fixed --json`, kind)
    expect(code).toBe(0)
    const plan = JSON.parse(out) as Replay
    expect(plan.findings).toEqual({ replay: 2, skip_schema: 1 })
    expect(plan.checks).toContainEqual(wordOf(kind))
    const shown = await lazaret(`replay show ${plan.id}`, kind)
    expect(shown.out).toContain('(the total is not a number)')
    expect(shown.out).toContain(`checked by ${kind} 1.4 ${living[kind].id}`)
  })

  it('K8: the console shows the word of the living consumer, and without it nothing can be sent', async () => {
    const headers = { 'content-type': 'application/json', origin: url }
    const ask = { filter: { channel: 'orders' }, store: 'shop', reason: 'fixed' }
    const body = JSON.stringify(ask)
    const response = await fetch(`${url}/api/v1/replays`, { method: 'POST', headers, body })
    const plan = (await response.json()) as { id: string; checks: readonly GateCheck[] }
    expect(plan.checks).toContainEqual(wordOf('orders'))
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/replays/${plan.id}`)
    const gate = page.getByRole('listitem').filter({ hasText: 'Schema:' })
    await gate.getByText('1 blocked').waitFor()
    await gate.getByText(`orders/bill, 3 letters: checked by orders 1.4 ${living.orders.id}`).waitFor()
    await end(living.orders, 'SIGTERM')
    const { code, err } = await lazaret('replay plan --channel orders --reason fixed', 'orders')
    expect(code).toBe(1)
    expect(err).toContain("no living process consumes orders/bill from 'rabbitmq'")
    expect(complaints).toEqual([])
  })
})
