// Takes the pictures of the console from the seeded demo: `node docs/pictures/take-console.ts`. It needs a built
// console (npm run build) and Debian's Chromium, and takes as long as the demo's first minute.
import { mkdirSync } from 'node:fs'
import type { Page } from 'playwright-core'
import type { DemoState } from '../../src/server/schema/demo.ts'
import type { GroupPage } from '../../src/server/schema/groups.ts'
import type { LetterPage } from '../../src/server/schema/letters.ts'
import type { ReplayList } from '../../src/server/schema/replays.ts'
import { openBrowser } from '../../test/services/chromium.ts'
import { expectFreshConsole, openPage } from '../../test/support/console-page.ts'
import { startDemo } from '../../test/support/demo-process.ts'
import { withTempFolder } from '../../test/support/folder.ts'

const SEED = 1
const into = new URL('console/', import.meta.url)

expectFreshConsole()
mkdirSync(into, { recursive: true })
await withTempFolder(async folder => {
  const demo = startDemo(folder, { pace: 1, args: ['--seed', String(SEED)] })
  const browser = await openBrowser()
  try {
    const { url } = await demo.told
    const light = (await openPage(browser)).page
    const dark = (await openPage(browser, { theme: 'dark' })).page
    const guided = (await openPage(browser, { tour: 'open' })).page
    await takeAll(url, { light, dark, guided })
  } finally {
    await browser.close()
    demo.interrupt()
    await demo.ended
  }
})

async function takeAll(
  url: string,
  { light, dark, guided }: Record<'light' | 'dark' | 'guided', Page>,
): Promise<void> {
  await reached(url, 'breaker-opens')
  await take(light, `${url}/channels`, 'channels')
  await take(light, `${url}/services`, 'services')
  await take(light, `${url}/overview`, 'overview')

  await reached(url, 'replay-halts')
  const { groups } = await ask<GroupPage>(url, '/groups?search=TypeError')
  const group = groups[0]!.id
  const { letters } = await ask<LetterPage>(url, `/dead-letters?group=${group}&state=dead&limit=1`)
  const { replays: halted } = await ask<ReplayList>(url, '/replays?state=halted')
  await take(light, `${url}/replays/${halted[0]!.id}`, 'replay-halted')
  await take(light, `${url}/groups`, 'groups')
  await take(light, `${url}/groups/${group}`, 'group')
  await take(light, `${url}/letters/${letters[0]!.id}`, 'letter')
  await take(guided, `${url}/groups`, 'tour')
  await plan(light, `${url}/replays/new?group=${group}`)

  await reached(url, 'replay-recovers')
  const { replays: finished } = await ask<ReplayList>(url, '/replays?state=finished')
  await take(light, `${url}/replays/${finished[0]!.id}`, 'replay-recovered')
  await take(light, `${url}/replays`, 'replays')
  await take(light, `${url}/letters`, 'letters')
  await take(light, `${url}/audit`, 'audit')
  await take(light, `${url}/settings`, 'settings')
  await take(dark, `${url}/overview`, 'overview-dark')
  await take(dark, `${url}/groups`, 'groups-dark')
  await take(dark, `${url}/letters/${letters[0]!.id}?tab=cycles`, 'letter-dark')
  await take(dark, `${url}/replays/${halted[0]!.id}`, 'replay-dark')
}

/** The steps of a plan, up to the one that shows results of the checks. Nothing is started. */
async function plan(page: Page, address: string): Promise<void> {
  await take(page, address, 'plan-letters')
  await page.getByRole('button', { name: /^Next: target/ }).click()
  await page.getByText('Apply a JSON Patch').click()
  const patch = [{ op: 'add', path: '/paidWith/wallet/country', value: 'SE' }]
  await page.getByLabel(/^JSON Patch/).fill(JSON.stringify(patch, null, 2))
  await page.getByRole('region', { name: 'Payload before and after' }).first().waitFor()
  await picture(page, 'plan-patch')
  await page.getByText('Unchanged', { exact: true }).click()
  await page.getByRole('button', { name: /^Next: pace/ }).click()
  await picture(page, 'plan-pace')
  await page.getByRole('button', { name: /^Next: reason/ }).click()
  await page.getByLabel('Reason for replay').fill('wallets are fixed in 2.4.1')
  await page.getByRole('button', { name: 'Freeze and check' }).click()
  await page.getByText('will be sent').waitFor()
  await picture(page, 'plan-findings')
}

async function take(page: Page, address: string, name: string): Promise<void> {
  await page.goto(address)
  await page.locator('main:not(:has(.waiting)) h1').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  await picture(page, name)
}

async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: new URL(`${name}.png`, into).pathname })
}

async function ask<T>(url: string, path: string): Promise<T> {
  return (await (await fetch(`${url}/api/v1${path}`)).json()) as T
}

/** The stream tells of every change, and the demo whether that was the one. */
async function reached(url: string, step: string): Promise<void> {
  const hangUp = new AbortController()
  const { body } = await fetch(`${url}/api/v1/stream`, { signal: hangUp.signal })
  try {
    for await (const _ of body!) {
      const { steps } = await ask<DemoState>(url, '/demo')
      if (steps.some(({ id, done }) => id === step && done)) return
    }
  } finally {
    hangUp.abort()
  }
}
