import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { openBrowser } from '../services/chromium.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { type ConsoleServer, serveLetters, tokenFor } from '../support/console-server.ts'
import { type FleetProcess, fleetWorld } from '../support/fleet-world.ts'
import { inBrowser } from '../support/in-browser.ts'

/** After this time every living process has reported again. */
const NEXT_REPORT_MS = 5_000
const GONE_MS = 20_000
const HOSTILE = '<img src=x onerror="window.pwned = 1">\u202e'
const HOSTILE_SHOWN = '<img src=x onerror="window.pwned = 1">⟨U+202E⟩'

let browser: Browser
let world: ReturnType<typeof fleetWorld>
let server: ConsoleServer
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
})
afterAll(() => browser?.close())
beforeEach(async () => {
  world = fleetWorld()
  server = await serveLetters([], { stores: world.store })
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  await server.close()
  await world.close()
})

async function startTwo(): Promise<readonly [FleetProcess, FleetProcess]> {
  return [
    await world.start({ service: 'shop', version: '2.4.0', host: 'web-1', pid: 101 }),
    await world.start({ service: 'shop', version: '2.4.1', host: 'web-2', pid: 202, fails: true }),
  ]
}

async function look(options: Parameters<typeof openPage>[1] = {}) {
  const { page, complaints } = await openPage(browser, options)
  await page.goto(`${server.url}/channels`)
  await page.locator('main:not(:has(.waiting)) h1').waitFor()
  return { page, complaints }
}

async function because(page: Page, reason: string, verb: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: verb, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

const isPaused = ({ consumer }: FleetProcess) => consumer.health().paused.includes('manual')
const commands = (page: Page) => page.getByRole('region', { name: 'Commands' })
const rowOf = (page: Page, text: string): Locator => page.locator('.channels tr', { hasText: text })

inBrowser('the channels of a fleet', () => {
  it('B17: show the sum over all living processes, and each process when asked', async () => {
    const [first, second] = await startTwo()
    await first.publish(3)
    await second.publish(1)
    await world.clock.advance(NEXT_REPORT_MS)
    const { page, complaints } = await look()
    const sum = rowOf(page, 'orders')
    await sum.getByText('25 %').waitFor()
    await sum.getByText('of 4 / min').waitFor()
    expect(await page.locator('.channels .instance').count()).toBe(0)
    await sum.getByRole('button', { name: 'Show 2 processes: orders, bill' }).click()
    await rowOf(page, 'web-1, pid 101').getByText('version 2.4.0').waitFor()
    await rowOf(page, 'web-1, pid 101').getByText('of 3 / min').waitFor()
    await rowOf(page, 'web-2, pid 202').getByText('100 %').waitFor()
    // The screen follows the processes by itself.
    second.consumer.breaker!.force('open', 'ann')
    await world.clock.advance(NEXT_REPORT_MS)
    await sum.getByText('forced open in 1').waitFor()
    await rowOf(page, 'web-2, pid 202').getByText('forced open').waitFor()
    await sum.getByRole('button', { name: 'Hide 2 processes: orders, bill' }).click()
    await page.locator('.channels .instance').first().waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('B17: are paused in all processes and resumed in one, and the outcomes are shown', async () => {
    const [first, second] = await startTwo()
    const { page, complaints } = await look()
    await page.getByRole('button', { name: 'Pause: bill, 2 living processes' }).click()
    await page.getByRole('dialog').getByText('The command goes to 2 living processes.').waitFor()
    await because(page, 'the bank is down', 'Pause consumer')
    await commands(page).getByText('Pause orders, bill: done in 2 of 2 processes').waitFor()
    expect([first, second].map(isPaused)).toEqual([true, true])
    await world.clock.advance(NEXT_REPORT_MS)
    await rowOf(page, 'orders').getByText('Not consuming: paused manually').waitFor()

    await page.getByRole('button', { name: 'Show 2 processes: orders, bill' }).click()
    await page.getByRole('button', { name: 'Resume: bill, web-2, pid 202' }).click()
    await because(page, 'one to try', 'Resume consumer')
    await commands(page).getByText('Resume orders, bill: done in 1 of 1 process').waitFor()
    expect([first, second].map(isPaused)).toEqual([true, false])
    await world.clock.advance(NEXT_REPORT_MS)
    await rowOf(page, 'orders').getByText('paused in 1 of 2').waitFor()
    await page.goto(`${server.url}/audit?action=fleet.pause`)
    await page.getByText('the bank is down').waitFor()
    expect(complaints).toEqual([])
  })

  it('B17: a viewer sees each process and cannot command it', async () => {
    await startTwo()
    const viewer = tokenFor('vera', 'viewer')
    const guarded = await serveLetters([], { stores: world.store, tokens: [viewer.option] })
    const { page } = await openPage(browser)
    await page.goto(`${guarded.url}/channels`)
    await page.getByLabel('Token').fill(viewer.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Show 2 processes: orders, bill' }).click()
    await rowOf(page, 'web-2, pid 202').waitFor()
    const pause = page.getByRole('button', { name: /^Pause: / })
    expect(await pause.count()).toBe(3)
    for (const button of await pause.all()) {
      expect(await button.getAttribute('aria-disabled')).toBe('true')
      await button.click({ force: true })
    }
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.context().close()
    await guarded.close()
  })

  it('B17: show the names of processes as text', async () => {
    await world.store.fleet!.report(
      {
        ...{ v: 1, id: 'p1', service: HOSTILE, version: HOSTILE, release: HOSTILE, host: HOSTILE, pid: 1 },
        startedAt: world.clock.now(),
        consumers: [
          {
            ...{ channel: HOSTILE, handler: HOSTILE, broker: HOSTILE, breaker: 'closed', paused: [] },
            ...{ perMinute: 0, failureRate: 0, active: 0, waiting: 0 },
          },
        ],
        sinks: [],
      },
      NEXT_REPORT_MS,
    )
    const { page, complaints } = await look()
    await page.getByRole('button', { name: /^Show 1 process: / }).click()
    await page.locator('.channels .instance').waitFor()
    // Channel and handler; host, service, version, release and broker of the process.
    expect((await page.locator('main').innerText()).split(HOSTILE_SHOWN).length - 1).toBe(7)
    await page
      .locator('.instance')
      .getByRole('button', { name: /^Pause/ })
      .click()
    await because(page, HOSTILE, 'Pause consumer')
    await commands(page).getByText('done in 0 of 1 process').waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(complaints).toEqual([])
  })

  it('B17: processes that are gone have a badge at Services, and those that left have none', async () => {
    const [first, second] = await startTwo()
    const { page } = await look()
    const services = page
      .getByRole('navigation', { name: 'Screens' })
      .getByRole('link', { name: /^Services/ })
    expect(await services.innerText()).toBe('Services')
    second.crash()
    await first.leave()
    await world.clock.advance(GONE_MS)
    await services.locator('.badge.loud', { hasText: '1 gone' }).waitFor()
    await page.getByText('No channels').waitFor()
  })

  it.each([
    ['light', 1_440],
    ['dark', 900],
  ] as const)('B17: are accessible and need no sideways scroll: %s, %d px wide', async (theme, width) => {
    await startTwo()
    const { page } = await look({ theme, width })
    await page.getByRole('button', { name: 'Show 2 processes: orders, bill' }).click()
    await rowOf(page, 'web-2, pid 202').waitFor()
    expect(await accessibilityViolations(page)).toEqual([])
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(overflow).toBeLessThanOrEqual(0)
  })
})
