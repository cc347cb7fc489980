import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { accessibilityViolations, openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter } = createFactory({ clock: systemClock })
const MINUTE_MS = 60_000
const NOW = systemClock.now()
/** A letter whose only attempt failed this many minutes ago. */
function failed(minutes: number, release: string, error: Error) {
  const made = letter({ release, error })
  const at = NOW - minutes * MINUTE_MS
  return { ...made, cycle: { ...made.cycle, firstFailedAt: at, lastFailedAt: at } }
}
const LETTERS = [
  failed(40, '2.3.0', new RangeError('limit passed')),
  failed(33, '2.4.0', new RangeError('limit passed')),
  failed(30, '2.4.0', new TypeError('no total')),
  failed(5, '2.5.0', new TypeError('no total')),
]

const opened = consoleInBrowser(() => serveLetters(LETTERS))

inBrowser('the timeline of a group', () => {
  it('F8: says with which release the group began, and lists the releases since', async () => {
    const { page, complaints } = await openPage(opened.browser)
    const group = LETTERS[2]!.cycle.failure!.fingerprint.id
    await page.goto(`${opened.server.url}/groups/${group}`)
    await page.getByText('Began with release 2.4.0, 3 min after its first failure.').waitFor()
    const releases = await page.locator('.releases li').allInnerTexts()
    expect(releases.map(text => text.split(' ')[0])).toEqual(['2.4.0', '2.5.0'])
    expect(await page.locator('.spark .moment').count()).toBe(2)
    expect(await accessibilityViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('F8: says nothing of a beginning that nobody knows', async () => {
    const { page } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/groups/${LETTERS[0]!.cycle.failure!.fingerprint.id}`)
    await page.locator('.releases li').first().waitFor()
    expect(await page.getByText('Began with').count()).toBe(0)
  })
})
