import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser } from '../services/chromium.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { inBrowser } from '../support/in-browser.ts'
import { layoutWorld } from '../support/layout-world.ts'

const WIDTHS = [390, 768, 900, 1_024, 1_440, 1_920] as const
const THEMES = ['light', 'dark'] as const
const HEIGHT = 900
const PHONE = WIDTHS[0]
const DESKTOP = 1_440
const FAULTS = readFileSync(new URL('../support/layout-faults.js', import.meta.url), 'utf8')

let browser: Browser
let world: Awaited<ReturnType<typeof layoutWorld>>
let page: Page
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
  world = await layoutWorld()
  page = (await openPage(browser)).page
})
afterAll(async () => {
  await browser?.close()
  await world?.close()
})

const SCREENS: Readonly<Record<string, () => string>> = {
  overview: () => '/overview',
  groups: () => '/groups',
  'groups, none matching': () => '/groups?search=nothing-like-this',
  group: () => `/groups/${world.group}`,
  'notes of a group': () => `/groups/${world.group}?tab=notes`,
  'replays of a group': () => `/groups/${world.group}?tab=replays`,
  letters: () => '/letters',
  letter: () => `/letters/${world.letter}`,
  'cycles of a letter': () => `/letters/${world.letter}?tab=cycles`,
  'two letters compared': () => `/letters/compare?first=${world.letter}&second=${world.otherLetter}`,
  'no two letters to compare': () => '/letters/compare',
  'no such letter': () => '/letters/nobody',
  replays: () => '/replays',
  'a planned replay': () => `/replays/${world.planned}`,
  'a halted replay': () => `/replays/${world.halted}`,
  plan: () => `/replays/new?group=${world.group}`,
  channels: () => '/channels',
  services: () => '/services',
  audit: () => '/audit',
  settings: () => '/settings',
  'no such screen': () => '/nowhere',
}

async function open(screen: string): Promise<void> {
  await page.setViewportSize({ width: DESKTOP, height: HEIGHT })
  await page.goto(world.url + SCREENS[screen]!())
  await settled()
  if (screen === 'channels') {
    await page.getByRole('button', { name: /^Show 2 processes/ }).click()
    await page.locator('.channels .instance').nth(1).waitFor()
  }
}

async function settled(): Promise<void> {
  await page.locator('h1, h2').first().waitFor()
  await page.locator('main:not(:has(.waiting))').waitFor({ state: 'attached' })
  await page.locator('.tour').waitFor()
}

interface Looks {
  readonly widths?: readonly number[]
  /** The widths at which axe looks too. */
  readonly axeAt?: readonly number[]
}

/** What is wrong with the page as it is, at each width and in each theme. */
async function faultsNow(
  state: string,
  { widths = WIDTHS, axeAt = [PHONE, DESKTOP] }: Looks = {},
): Promise<string[]> {
  const found: string[] = []
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHT })
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme })
      const faults = await page.evaluate<string[]>(FAULTS)
      if (axeAt.includes(width)) faults.push(...(await accessibilityViolations(page)))
      found.push(...faults.map(fault => `${state}, ${width} px, ${theme}: ${fault}`))
    }
  }
  return found
}

async function toggleTour(): Promise<void> {
  await page.evaluate('document.querySelector(".tour-head").click()')
}

inBrowser('every screen at every width, in both themes', () => {
  // One test for each screen: the time that a test may take is then far from what a screen takes.
  it.each(Object.keys(SCREENS))(
    'F8: %s has no overflow, empty column, overlap, broken word or serious accessibility problem',
    async screen => {
      await open(screen)
      const faults = await faultsNow('without the tour', { axeAt: [PHONE] })
      await toggleTour()
      await page.locator('.tour:not(.shut)').waitFor()
      faults.push(...(await faultsNow('with the tour', { widths: WIDTHS.slice(1) })))
      await toggleTour()
      expect(faults).toEqual([])
    },
  )

  it('F8: the steps of a plan have none either', async () => {
    await open('plan')
    const faults: string[] = []
    for (const next of ['target and edits', 'pace and halt rules', 'reason and check']) {
      await page.getByRole('button', { name: `Next: ${next}` }).click()
      faults.push(...(await faultsNow(next)))
    }
    expect(faults).toEqual([])
  })

  it.each([
    ['letter', 'Reveal payload…'],
    ['letter', 'Discard letter…'],
    ['letters', 'Delete all matching…'],
    ['channels', 'Force open'],
    ['a planned replay', 'Cancel replay'],
  ])('F8: nor has the dialog of %s: %s', async (screen, button) => {
    await open(screen)
    await page.getByRole('button', { name: button }).first().click()
    await page.getByRole('dialog').waitFor()
    expect(await faultsNow('dialog', { widths: [PHONE, DESKTOP] })).toEqual([])
  })

  it('F8: nor has the list of the keyboard shortcuts', async () => {
    await open('letter')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await faultsNow('shortcuts', { widths: [PHONE, DESKTOP] })).toEqual([])
  })
})

inBrowser('the sign-in', () => {
  it('F8: has no overflow, overlap or broken word', async () => {
    await page.route('**/api/v1/me', route => route.fulfill({ status: 401, json: { status: 401 } }))
    await page.goto(world.url)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const faults = await faultsNow('signed out')
    await page.unroute('**/api/v1/me')
    expect(faults).toEqual([])
  })
})

inBrowser('a letter', () => {
  it('F8: shows its error above its payload at every width', async () => {
    await open('letter')
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT })
      const error = (await page.getByText('Attempt 1', { exact: true }).boundingBox())!
      const payload = (await page.getByRole('heading', { name: 'Body' }).boundingBox())!
      expect(error.y, `${width} px`).toBeLessThan(payload.y)
    }
  })
})
