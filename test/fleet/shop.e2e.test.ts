import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Instance } from '../../src/ports/fleet.ts'
import type { Replay } from '../../src/ports/replays.ts'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { inShop } from './shop/in-shop.ts'
import { readJournals, sendings } from './shop/journal.ts'
import { ORDERS, SINKS, STOCK } from './shop/settings.ts'
import { Shop, timing } from './shop/shop.ts'

/** Of each kind. The long form: LAZARET_FLEET_LETTERS=1000 npx vitest run test/fleet/shop.e2e.test.ts. */
const LETTERS = Number(process.env['LAZARET_FLEET_LETTERS'] ?? 100)
const PER_SECOND = 1_000
/** Orders that the schema refuses, and others beside them. */
const MISFITS = 3
const FITTING = 2

let shop: Shop
let url: string
let browser: Browser
let page: Page
let complaints: readonly string[]
const published = { orders: [] as string[], stock: [] as string[] }

beforeAll(async () => {
  expectFreshConsole()
  shop = await Shop.open('orders', 'stock', 'events')
  // Each of the two dispatchers tracks events, and each event becomes a letter of each sink.
  const tracks = LETTERS / 2 / SINKS.length
  await Promise.all(
    ['1.0', '1.1'].flatMap(version => [
      shop.start('orders', { version }),
      shop.start('stock', { version }),
      shop.start('events', { version, tracks }),
    ]),
  )
  published.orders = await shop.publish('orders', LETTERS)
  published.stock = await shop.publish('stock', LETTERS)
  url = (await shop.serve()).url
  browser = await openBrowser()
  const opened = await openPage(browser)
  page = opened.page
  complaints = opened.complaints
  for (const [store, channel] of KINDS)
    await timing.eventually(
      async () => (await statesOf(store, channel))['dead'] === LETTERS,
      `the letters of ${channel}`,
    )
})
afterAll(async () => {
  await browser?.close()
  await shop?.close()
})

type StoreName = 'shop' | 'stock'

/** Where the letters of each kind are. */
const KINDS = [
  ['shop', 'orders'],
  ['stock', 'stock'],
  ['shop', 'events'],
] as const

async function lazaret(words: string, store: StoreName) {
  return shop.lazaret(words, shop.stores[store])
}

async function linesOf<T>(words: string, store: StoreName): Promise<T[]> {
  const { code, out, err } = await lazaret(`${words} --json`, store)
  expect({ code, err }).toMatchObject({ code: 0 })
  const lines = out.split('\n').filter(line => line !== '')
  return lines.map(line => JSON.parse(line) as T)
}

async function statesOf(store: StoreName, channel: string): Promise<Readonly<Record<string, number>>> {
  const [stats] = await linesOf<{ byState: Record<string, number> }>(`dlq stats --channel ${channel}`, store)
  return stats!.byState
}

/** Lists the processes of a service until both of them report so. */
async function bothReport(service: string, isSo: (report: Instance['report']) => boolean): Promise<void> {
  const store = service === 'stock' ? 'stock' : 'shop'
  await timing.eventually(async () => {
    const all = (await linesOf<Instance>('fleet list', store)).filter(
      ({ report }) => report.service === service,
    )
    return all.length === 2 && all.every(({ report, state }) => state === 'alive' && isSo(report))
  }, `both processes of ${service}`)
}

/** A command that both processes of a service execute. */
async function command(words: string, store: StoreName): Promise<void> {
  const done = await lazaret(`fleet ${words} --by ann --wait 120s --reason 'a test'`, store)
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(done.out.match(/: done$/gm)).toHaveLength(2)
}

/** Presses the button for both processes of a service, and waits for both outcomes. */
async function press(button: string, service: string, verb: string, outcome: string): Promise<void> {
  await page.goto(`${url}/services`)
  await page.getByRole('button', { name: `${button}, 2 living processes of ${service}` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('a test in the console')
  await dialog.getByRole('button', { name: verb, exact: true }).click()
  const commands = page.getByRole('region', { name: 'Commands' })
  await commands.getByText(`${outcome}: done in 2 of 2 processes`).waitFor()
  await commands
    .getByRole('button', { name: /^Dismiss/ })
    .first()
    .click()
}

const isPaused = ({ consumers }: Instance['report']) => consumers[0]!.paused.includes('manual')
const isOpen = ({ consumers }: Instance['report']) => consumers[0]!.breaker === 'forced-open'
const isSinkOpen = ({ sinks }: Instance['report']) =>
  sinks.some(({ name, breaker }) => name === 'crm' && breaker === 'forced-open')

const plan = (channel: string) =>
  `replay plan --channel ${channel} --by ann --reason 'the bank is back' --stages 1,10,rest --per-second ${PER_SECOND}`

/** Plans a replay on the screens of the console. */
async function planInConsole(store: StoreName, channel: string): Promise<void> {
  await page.goto(`${url}/replays/new?channel=${channel}&state=dead`)
  await page.getByLabel('Store').selectOption(store)
  for (const next of ['target and edits', 'pace and halt rules'])
    await page.getByRole('button', { name: `Next: ${next}` }).click()
  await page.getByLabel('Stages', { exact: true }).fill('1, 10, rest')
  await page.getByLabel('Maximum letters per second').fill(String(PER_SECOND))
  await page.getByRole('button', { name: 'Next: reason and check' }).click()
  await page.getByLabel('Reason for replay').fill('the bank is back')
  await page.getByRole('button', { name: 'Freeze and check' }).click()
}

/** Starts the planned replay, and waits for its end. */
async function startInConsole(): Promise<void> {
  const start = { name: /^Start: send/ }
  await page.getByRole('button', start).click()
  await page.getByRole('dialog').getByRole('button', start).click()
  await page.locator('.page-head').getByText('finished').waitFor()
}

const once = (ids: Iterable<string>) => new Map([...ids].map(id => [id, 1]))

inShop('a fleet with its server and command line apart', () => {
  it('B17: the command line pauses and the console resumes a consumer on RabbitMQ, in both processes', async () => {
    await command('pause --channel orders', 'shop')
    await bothReport('orders', isPaused)
    const { code, err } = await lazaret(plan('orders'), 'shop')
    expect(code).toBe(1)
    expect(err).toContain('the consumer bill is paused manually in all 2 processes of orders')
    await press('Resume: orders, bill', 'orders', 'Resume consumer', 'Resume orders, bill')
    await bothReport('orders', report => !isPaused(report))
  })

  it('B17: the console pauses and the command line resumes a consumer on Redis Streams, in both processes', async () => {
    await press('Pause: stock, reserve', 'stock', 'Pause consumer', 'Pause stock, reserve')
    await bothReport('stock', isPaused)
    await command('resume --channel stock', 'stock')
    await bothReport('stock', report => !isPaused(report))
  })

  it('B17: either of them forces a breaker and the other one resets it: of a sink and of a consumer', async () => {
    await command('breaker --to open --sink crm', 'shop')
    await bothReport('events', isSinkOpen)
    await press('Reset breaker: crm', 'events', 'Reset breaker', 'Reset breaker crm')
    await bothReport('events', report => !isSinkOpen(report))

    await press('Force open: orders, bill', 'orders', 'Force breaker open', 'Force breaker open orders, bill')
    await bothReport('orders', isOpen)
    const { code, err } = await lazaret(plan('orders'), 'shop')
    expect(code).toBe(1)
    expect(err).toContain('the consumer bill has an open breaker in all 2 processes of orders')
    await command('breaker --to auto --channel orders', 'shop')
    await bothReport('orders', report => !isOpen(report))
  })

  it('B18: replays by the command line and by the console recover every letter of each kind once', async () => {
    const [{ id }] = (await linesOf<{ id: string }>(plan('orders'), 'shop')) as [{ id: string }]
    const [replay] = await linesOf(`replay start ${id} --yes`, 'shop')
    expect(replay).toMatchObject({ state: 'finished', outcomes: { recovered: LETTERS } })
    for (const [store, channel] of [KINDS[1], KINDS[2]]) {
      await planInConsole(store, channel)
      await startInConsole()
    }

    for (const [store, channel] of KINDS)
      expect(await statesOf(store, channel)).toEqual({ resolved: LETTERS })
    const { receiver } = shop
    expect(receiver.taken(ORDERS.handler)).toEqual(once(published.orders))
    expect(receiver.taken(STOCK.handler)).toEqual(once(published.stock))
    // Each tracked event is a letter of each sink.
    const [first, ...others] = SINKS.map(sink => receiver.taken(sink))
    expect([...first!.values()]).toEqual(Array(LETTERS / SINKS.length).fill(1))
    for (const taken of others) expect(taken).toEqual(first)
    expect([...sendings(readJournals(shop.folder)).values()]).toEqual(Array(LETTERS * KINDS.length).fill(1))
    expect(complaints).toEqual([])
  })

  it('K8: a plan has the word of living consumers for the schema and for the breakers, and sends only what fits', async () => {
    await shop.publish('orders', MISFITS, { total: 'a lot' })
    const fitting = await shop.publish('orders', FITTING)
    await timing.eventually(
      async () => (await statesOf('shop', 'orders'))['dead'] === MISFITS + FITTING,
      'the new letters',
    )
    const [planned] = await linesOf<Replay>(`${plan('orders')} --state dead`, 'shop')
    expect(planned!.findings).toEqual({ replay: FITTING, skip_schema: MISFITS })
    const answers = new Map(planned!.checks!.map(({ gate, answer }) => [gate, answer]))
    const byOrders = { answeredBy: 'fleet', processes: [expect.objectContaining({ service: 'orders' })] }
    expect(answers.get('schema')).toMatchObject({ ...byOrders, count: 1 })
    expect(answers.get('downstream')).toMatchObject({ answeredBy: 'fleet', count: 2 })

    await planInConsole('shop', 'orders')
    await page.getByText(`${MISFITS} blocked: the payload to be sent does not match the schema`).waitFor()
    await page.getByText('the total is not a number').first().waitFor()
    await page.getByText(`of ${MISFITS + FITTING} will be sent`).waitFor()
    await startInConsole()
    expect(await statesOf('shop', 'orders')).toEqual({ resolved: LETTERS + FITTING, dead: MISFITS })
    expect(shop.receiver.taken(ORDERS.handler)).toEqual(once([...published.orders, ...fitting]))
  })
})
