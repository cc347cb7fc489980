import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createFactory } from '../../src/testing/factories.ts'
import { openBrowser } from '../services/chromium.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { type ConsoleServer, serveLetters, tokenFor } from '../support/console-server.ts'
import { type FleetProcess, fleetWorld } from '../support/fleet-world.ts'
import { inBrowser } from '../support/in-browser.ts'

/** After this time every living process has reported again. */
const NEXT_REPORT_MS = 5_000
/** After this time a command is over. */
const COMMAND_OVER_MS = 61_000
/** The screen asks for the sums and for the processes each in its own time. */
const PATIENT = { timeout: 60_000 }
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

/** A release half way: one process of the old version, and one of the new, whose handler fails. */
async function startRelease() {
  const old = await world.start({ service: 'shop', version: '2.4.0', host: 'web-1', pid: 101 })
  const next = await world.start({
    ...{ service: 'shop', version: '2.4.1', release: 'r7', host: 'web-2', pid: 202 },
    fails: true,
  })
  return { old, next }
}

async function look(options: Parameters<typeof openPage>[1] = {}) {
  const { page, complaints } = await openPage(browser, options)
  await page.goto(`${server.url}/services`)
  await page.locator('main:not(:has(.waiting)) h1').waitFor()
  return { page, complaints }
}

/** The rows of one process, or of all of a service. */
function rowsOf(page: Page, name: string): Locator {
  return page.locator('tbody', { has: page.getByRole('rowheader', { name }) })
}

async function because(page: Page, reason: string, verb: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: verb, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

async function pauseAll(page: Page, reason: string): Promise<void> {
  await rowsOf(page, 'All 2 living processes')
    .getByRole('button', { name: 'Pause: orders, bill, 2 living processes of shop' })
    .click()
  await because(page, reason, 'Pause consumer')
}

const isPaused = ({ consumer }: FleetProcess) => consumer.health().paused.includes('manual')
const commands = (page: Page) => page.getByRole('region', { name: 'Commands' })
const overflow = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

inBrowser('the services', () => {
  it('B17: shows each process with its version, and which version fails', async () => {
    const { old, next } = await startRelease()
    await old.publish(3)
    await next.publish(2)
    await world.clock.advance(NEXT_REPORT_MS)
    const { page, complaints } = await look()
    const versions = page.getByRole('list', { name: 'Versions' }).getByRole('listitem')
    expect(await versions.allInnerTexts()).toEqual([
      '2.4.0: 1 process, 0 % of events failed',
      '2.4.1, release r7: 1 process, 100 % of events failed',
    ])
    await rowsOf(page, 'web-1, pid 101').getByText('version 2.4.0').waitFor()
    await rowsOf(page, 'web-2, pid 202').getByText('release r7').waitFor()
    expect(await page.getByText('alive', { exact: true }).count()).toBe(2)

    const all = rowsOf(page, 'All 2 living processes')
    const consumer = all.getByRole('row', { name: 'orders bill on memory' })
    expect(await consumer.getByRole('cell').nth(2).innerText()).toBe('5')
    expect(await consumer.getByRole('cell').nth(3).innerText()).toBe('40 %')
    await all.getByRole('row', { name: 'crm sink' }).getByText('closed').waitFor()
    // The screen follows the processes by itself.
    await old.publish(4)
    await world.clock.advance(NEXT_REPORT_MS)
    await consumer.getByRole('cell', { name: '9', exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('B17: pauses the consumers of all processes of a service, and resumes one of them', async () => {
    const { old, next } = await startRelease()
    const { page, complaints } = await look()
    await pauseAll(page, 'the bank is down')
    await commands(page).getByText('Pause orders, bill: done in 2 of 2 processes').waitFor()
    await commands(page)
      .getByRole('listitem')
      .filter({ hasText: 'web-1, pid 101' })
      .getByText('done')
      .waitFor()
    expect([old, next].map(isPaused)).toEqual([true, true])
    await world.clock.advance(NEXT_REPORT_MS)
    for (const name of ['web-1, pid 101', 'web-2, pid 202'])
      await rowsOf(page, name).getByText('Not consuming: paused manually').waitFor()

    await rowsOf(page, 'web-2, pid 202').getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('dialog').getByText('The command goes to web-2, pid 202.').waitFor()
    await because(page, 'one to try', 'Resume consumer')
    await commands(page).getByText('Resume orders, bill: done in 1 of 1 process').waitFor()
    expect([old, next].map(isPaused)).toEqual([true, false])
    await world.clock.advance(NEXT_REPORT_MS)
    await rowsOf(page, 'All 2 living processes').getByText('paused in 1 of 2').waitFor()
    // A reload does not lose the outcomes.
    await page.reload()
    await commands(page).getByText('Pause orders, bill: done in 2 of 2 processes').waitFor()
    await commands(page).getByRole('button', { name: 'Dismiss: Pause orders, bill' }).click()
    await commands(page).getByText('Pause orders, bill').waitFor({ state: 'detached' })

    await page.goto(`${server.url}/audit?action=fleet.pause`)
    await page.getByText('the bank is down').waitFor()
    expect(complaints).toEqual([])
  })

  it('B17: probes a consumer, validates its letters and resends those of a sink, and shows the answers', async () => {
    const { old, next } = await startRelease()
    const make = createFactory({ clock: world.clock })
    await world.store.deadLetters.send(make.letter({ channel: 'orders', handler: 'bill' }))
    await world.store.deadLetters.send(make.letter({ handler: 'crm' }))
    const { page, complaints } = await look()
    const ask = async (name: string, verb: string) => {
      await rowsOf(page, 'All 2 living processes').getByRole('button', { name }).click()
      await because(page, 'to see', verb)
    }
    await ask('Probe: orders, bill', 'Probe')
    await commands(page).getByText('Probe orders, bill: done in 2 of 2 processes').waitFor()
    await commands(page).getByText('breaker closed, 0 in progress').first().waitFor()
    await ask('Validate letters: orders, bill', 'Validate letters')
    await commands(page).getByText('Validate letters of orders, bill: done in 1 of 1 process').waitFor()
    await commands(page).getByText('1 valid').waitFor()
    await ask('Resend letters: crm', 'Resend letters')
    await world.clock.advance(1_000)
    await commands(page).getByText('1 delivered').waitFor()
    expect([...old.crm.events, ...next.crm.events]).toHaveLength(1)
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    expect(complaints).toEqual([])
  })

  it('B17: forces the breaker of a sink in one process, and resets it', async () => {
    await startRelease()
    const { page } = await look()
    const sink = rowsOf(page, 'web-1, pid 101').getByRole('row', { name: 'crm sink' })
    await sink.getByRole('button', { name: 'Force open' }).click()
    await because(page, 'the CRM asked for it', 'Force breaker open')
    await commands(page).getByText('Force breaker open crm: done in 1 of 1 process').waitFor()
    await world.clock.advance(NEXT_REPORT_MS)
    await sink.getByText('forced open').waitFor()
    const sum = rowsOf(page, 'All 2 living processes').getByRole('row', { name: 'crm sink' })
    await expect
      .poll(() => sum.locator('.breakers li').allInnerTexts(), PATIENT)
      .toEqual(['forced open in 1', 'closed in 1'])
    await sum.getByRole('button', { name: 'Reset breaker' }).click()
    await because(page, 'it is back', 'Reset breaker')
    await commands(page).getByText('Reset breaker crm: done in 2 of 2 processes').waitFor()
    await world.clock.advance(NEXT_REPORT_MS)
    await sink.getByText('forced open').waitFor({ state: 'detached' })
  })

  it('B17: shows a process that vanished as gone, with the time, and folds away those that left', async () => {
    const { old, next } = await startRelease()
    const { page } = await look()
    next.crash()
    await pauseAll(page, 'a release')
    await commands(page).getByText('Pause orders, bill: done in 1 of 2 processes').waitFor()
    const outcome = commands(page).getByRole('listitem').filter({ hasText: 'web-2, pid 202' })
    await outcome.getByText('waiting', { exact: true }).waitFor()
    await world.clock.advance(COMMAND_OVER_MS)
    await outcome.getByText('expired', { exact: true }).waitFor()
    await outcome.getByText('it is not executed').waitFor()

    const gone = page.locator('.ended-processes li', { hasText: 'web-2, pid 202' })
    await gone.getByText('gone', { exact: true }).waitFor()
    await gone.getByText('last report 2026-01-01 00:00:00 UTC, 1 min ago').waitFor()
    await gone.getByText('had orders, crm').waitFor()
    expect(await gone.getByRole('button').count()).toBe(0)

    await old.leave()
    const left = page.locator('.left-processes')
    await left.getByText('1 process left').click()
    await left.getByText('web-1, pid 101').waitFor()
    expect(await page.locator('.parts').count()).toBe(0)
  })

  it('B17: shows why a command failed, and that a process did not answer', async () => {
    const { old, next } = await startRelease()
    const { page, complaints } = await look()
    for (const each of [old, next]) each.crash()
    await pauseAll(page, 'a release')
    const outcomes = commands(page).getByRole('listitem')
    await outcomes.filter({ hasText: 'web-1' }).getByText('waiting', { exact: true }).waitFor()
    const [failing] = await world.store.commands!.claim(old.id, 1)
    await world.store.commands!.finish(failing!.id, old.id, { ok: false, error: HOSTILE })
    await world.store.commands!.claim(next.id, 1)
    await outcomes.filter({ hasText: 'web-1' }).getByText(HOSTILE_SHOWN).waitFor()
    await outcomes.filter({ hasText: 'web-1' }).getByText('failed', { exact: true }).waitFor()
    await world.clock.advance(COMMAND_OVER_MS)
    await outcomes.filter({ hasText: 'web-2' }).getByText('unanswered', { exact: true }).waitFor()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(complaints).toEqual([])
  })

  it('B17: shows the names of processes as text', async () => {
    const consumer = { channel: HOSTILE, handler: HOSTILE, broker: HOSTILE, breaker: 'closed' as const }
    const numbers = { paused: [], perMinute: 0, failureRate: 0, active: 0, waiting: 0 }
    await world.store.fleet!.report(
      {
        ...{ v: 1, id: 'p1', service: HOSTILE, version: HOSTILE, release: HOSTILE, host: HOSTILE, pid: 1 },
        startedAt: world.clock.now(),
        consumers: [{ ...consumer, ...numbers }],
        sinks: [],
      },
      NEXT_REPORT_MS,
    )
    const { page, complaints } = await look()
    // Service, version twice, release twice, host, channel, handler and broker.
    expect((await page.locator('main').innerText()).split(HOSTILE_SHOWN).length - 1).toBe(9)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('dialog').getByText(HOSTILE_SHOWN).first().waitFor()
    await because(page, HOSTILE, 'Pause consumer')
    await commands(page).getByText('done in 0 of 1 process').waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(complaints).toEqual([])
  })

  /** Processes without consumers, which report once. */
  async function reportMany(count: number, serviceOf: (pid: number) => string): Promise<void> {
    for (let pid = 1; pid <= count; pid++)
      await world.store.fleet!.report(
        {
          ...{ v: 1, id: `p${pid}`, service: serviceOf(pid), host: 'web', pid, startedAt: pid },
          ...{ consumers: [], sinks: [] },
        },
        NEXT_REPORT_MS,
      )
  }

  it('B17: shows the first processes of a large service, and the others page by page', async () => {
    await reportMany(41, () => 'shop')
    const { page } = await look()
    await page.getByText('All 41 living processes').waitFor()
    await page.getByText('web, pid 20', { exact: true }).waitFor()
    const alive = page.getByText('alive', { exact: true })
    expect(await alive.count()).toBe(20)
    const more = page.getByRole('button', { name: 'Show more processes' })
    await more.click()
    await page.getByText('web, pid 40', { exact: true }).waitFor()
    expect(await alive.count()).toBe(40)
    await more.click()
    await page.getByText('web, pid 41', { exact: true }).waitFor()
    expect([await alive.count(), await more.count()]).toEqual([41, 0])
  })

  it('B17: shows the sums of many services, and the processes of one when asked', async () => {
    await reportMany(120, pid => `service ${String((pid % 60) + 1).padStart(2, '0')}`)
    const asked: string[] = []
    const { page, complaints } = await openPage(browser)
    page.on('request', request => asked.push(new URL(request.url()).pathname))
    await page.goto(`${server.url}/services`)
    await page.getByRole('heading', { name: 'service 50' }).waitFor()
    expect(await page.getByText('All 2 living processes').count()).toBe(50)
    expect(await page.getByText('web, pid', { exact: false }).count()).toBe(0)
    expect(asked).not.toContain('/api/v1/fleet')
    await page.getByRole('button', { name: 'Show 2 processes: service 07' }).click()
    await page.getByText('web, pid 66', { exact: true }).waitFor()
    expect(await page.getByText('alive', { exact: true }).count()).toBe(2)
    await page.getByRole('link', { name: 'More services' }).click()
    await page.getByRole('heading', { name: 'service 60' }).waitFor()
    expect(await page.getByText('All 2 living processes').count()).toBe(10)
    await page.getByRole('link', { name: 'First services' }).click()
    await page.getByRole('heading', { name: 'service 01' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('B17: a viewer sees the processes and cannot command them', async () => {
    await startRelease()
    const viewer = tokenFor('vera', 'viewer')
    const guarded = await serveLetters([], { stores: world.store, tokens: [viewer.option] })
    const { page } = await openPage(browser)
    await page.goto(`${guarded.url}/services`)
    await page.getByLabel('Token').fill(viewer.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const pause = page.getByRole('button', { name: /^Pause: / })
    // The sums are there first; the processes come with an answer of their own.
    await expect.poll(() => pause.count(), PATIENT).toBe(3)
    for (const button of await pause.all()) {
      expect(await button.getAttribute('aria-disabled')).toBe('true')
      await button.click({ force: true })
    }
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await page.locator('.denied .why').first().textContent()).toMatch(/viewer/)
    await page.context().close()
    await guarded.close()
  })

  it('B17: says how a process joins while there is none, and opens with the keys g and f', async () => {
    const { page } = await look()
    await page.getByRole('heading', { name: 'No processes' }).waitFor()
    await page.getByText('joinFleet()').waitFor()
    await page.goto(`${server.url}/audit`)
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('f')
    await page.waitForURL('**/services')
    await page.getByRole('link', { name: 'Services', exact: true }).waitFor()
  })

  it.each([
    ['light', 1_440],
    ['dark', 1_440],
    ['light', 900],
    ['dark', 390],
  ] as const)('B17: is accessible and needs no sideways scroll: %s, %d px wide', async (theme, width) => {
    const { old, next } = await startRelease()
    await next.publish(2)
    await world.clock.advance(NEXT_REPORT_MS)
    const lost = await world.start({ service: 'mailer', host: 'a-host-with-a-long-name.example', pid: 9 })
    lost.crash()
    await world.clock.advance(20_000)
    const { page } = await look({ theme, width })
    await pauseAll(page, 'a release')
    await commands(page).getByText('done in 2 of 2 processes').waitFor()
    expect([old, next].map(isPaused)).toEqual([true, true])
    expect(await accessibilityViolations(page)).toEqual([])
    expect(await overflow(page)).toBeLessThanOrEqual(0)
  })
})
