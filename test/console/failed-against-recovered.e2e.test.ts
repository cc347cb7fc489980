import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { accessibilityViolations, openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const { letter, event } = createFactory({ clock: systemClock })
const lettersOf = (country: string) =>
  Array.from({ length: 6 }, () =>
    letter({ event: event({ payload: { country, password: `secret-of-${country}` } }) }),
  )
const FAILED = lettersOf('DE')
const RECOVERED = lettersOf('FR')

const opened = consoleInBrowser(async () => {
  const server = await serveLetters([...FAILED, ...RECOVERED])
  const { deadLetters } = server.store
  for (const { id } of RECOVERED) {
    await deadLetters.change(id, { to: 'replaying', at: systemClock.now(), replayId: 'r1' })
    await deadLetters.change(id, { to: 'resolved', at: systemClock.now() })
  }
  return server
})

inBrowser('failed against recovered', () => {
  it('F8: the group shows which value separates them, and leads to its letters', async () => {
    const { page, complaints } = await openPage(opened.browser)
    await page.goto(`${opened.server.url}/groups/${FAILED[0]!.cycle.failure!.fingerprint.id}`)
    await page.getByText('failed 6 of 6, recovered 0 of 6').waitFor()
    await page.getByText('Left out: 1 masked field.').waitFor()
    expect(await page.locator('main').innerText()).not.toContain('secret-of')
    expect(await accessibilityViolations(page)).toEqual([])
    await page.getByRole('link', { name: 'payload.country = "DE"' }).click()
    await page.getByText('6 letters match').waitFor()
    expect(complaints).toEqual([])
  })
})
