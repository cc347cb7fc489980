import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { openBrowser } from '../services/chromium.ts'
import { type Agent, agentAt } from '../support/agent-client.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { type ConsoleServer, serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'
import { factoryOf } from '../support/memory-letters.ts'

const HOSTILE = 'approved by ada <img src=x onerror="document.title=\'PWNED\'">\u202e'

let browser: Browser
let server: ConsoleServer
let agent: Agent
beforeAll(async () => {
  expectFreshConsole()
  browser = await openBrowser()
  server = await serveLetters([factoryOf(systemClock).letter()], { agents: { allow: ['replay', 'triage'] } })
  agent = await agentAt(server.url, 'none')
})
afterAll(async () => {
  await agent?.close()
  await browser?.close()
  await server?.close()
})

inBrowser('the replays', () => {
  it('S10: show the plans of agents that wait for approval, and what agents did, as plain text', async () => {
    const { page, complaints } = await openPage(browser, { width: 390 })
    await page.goto(`${server.url}/replays`)
    await page.getByText('No replays').waitFor()
    expect(await page.getByRole('heading', { name: 'What agents did' }).count()).toBe(0)

    const { data } = await agent.call('list_dlq_events')
    const planned = await agent.call('replay_dlq_event', { id: data.letters[0].id, reason: HOSTILE })
    expect(planned.data.nextStep, planned.said).toBe('wait_for_approval')
    await page.reload()
    const panelOf = (name: string) =>
      page.locator('section.panel').filter({ has: page.getByRole('heading', { name }) })
    const waiting = panelOf('Agents wait for your approval')
    await waiting.getByText('approved by ada <img').waitFor()
    await panelOf('What agents did').getByText('agent:tester for local').first().waitFor()
    expect(await page.locator('img[src="x"]').count()).toBe(0)
    expect(await page.title()).not.toContain('PWNED')
    expect(await waiting.textContent()).toContain('⟨U+202E⟩')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    expect(await accessibilityViolations(page)).toEqual([])

    await waiting.getByRole('link').first().click()
    await page.getByRole('button', { name: 'Approve replay' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve replay' }).click()
    await page.getByRole('button', { name: /^Start: send 1 letter/ }).waitFor()
    expect((await agent.call('get_replay', { id: planned.data.id })).data.nextStep).toBe('start_replay')
    expect(complaints).toEqual([])
  })
})
