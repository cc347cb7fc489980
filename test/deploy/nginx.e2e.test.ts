import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { codeBlocks, readPage } from '../docs/markdown.ts'
import { openBrowser } from '../services/chromium.ts'
import { findNginx, type NginxService, startNginx } from '../services/nginx.ts'
import { expectFreshConsole, openPage } from '../support/console-page.ts'
import { type ConsoleServer, serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const PAGE = readPage('docs/deploy/nginx.md')
const OTHER_APPLICATION = 'location / { return 200 "another application"; }'
const { letter } = createFactory({ clock: systemClock })
const LETTERS = [
  ...Array.from({ length: 3 }, () => letter({ channel: 'orders' })),
  ...Array.from({ length: 2 }, () => letter({ channel: 'emails', error: new Error('mailbox full') })),
]

/** The block of the page, with the ports of the test and without the certificate, beside another application. */
function documentedBlock(port: number, server: string): string {
  const [block] = codeBlocks(PAGE).filter(({ language }) => language === 'nginx')
  const own = block!.text
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_.*\n/gm, '')
    .replace('http://127.0.0.1:4600', new URL(server).origin)
  return own.replace(/\}\n*$/, `${OTHER_APPLICATION}\n}`)
}

const found = await findNginx()
let server: ConsoleServer
let nginx: NginxService
let browser: Browser | undefined

function withNginx(name: string, tests: () => void): void {
  if (found.found) describe(name, tests)
  else describe.skip(`${name} (skipped: ${found.why})`, tests)
}

withNginx('the server behind nginx, below a path', () => {
  beforeAll(async () => {
    expectFreshConsole()
    server = await serveLetters(LETTERS, { basePath: '/lazaret/' })
    nginx = await startNginx(port => documentedBlock(port, server.url))
  })
  afterAll(async () => {
    await browser?.close()
    await nginx?.close()
    await server?.close()
  })

  it('F8: answers there and leaves the other paths to others', async () => {
    const ask = async (path: string) => {
      const response = await fetch(nginx.url + path)
      return [response.status, (await response.text()).slice(0, 19)]
    }
    expect(await ask('/lazaret/healthz')).toEqual([200, expect.any(String)])
    expect(await ask('/lazaret/letters/x')).toEqual([200, expect.stringContaining('<!doctype html>')])
    for (const path of ['/', '/healthz', '/api/v1/overview', '/lazaret-staging/'])
      expect(await ask(path), path).toEqual([200, 'another application'])
    const redirected = await fetch(`${nginx.url}/lazaret`, { redirect: 'manual' })
    expect([redirected.status, redirected.headers.get('location')]).toEqual([301, `${nginx.url}/lazaret/`])
  })

  it('F8: accepts a change from the console’s own origin', async () => {
    const change = (origin: string) =>
      fetch(`${nginx.url}/lazaret/api/v1/dead-letters/${LETTERS[4]!.id}/discard`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify({ reason: 'a test' }),
      })
    expect((await change('https://evil.example')).status).toBe(403)
    expect((await change(nginx.url)).status).toBe(200)
  })

  it('F8: its stream brings a change at once', async () => {
    const { body } = await fetch(`${nginx.url}/lazaret/api/v1/stream`)
    const pieces = body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await pieces.read()).value ?? ''
    await server.store.deadLetters.send(letter({ channel: 'refunds' }))
    while (!/event: change\ndata: .*"letters"/.test(text)) text += (await pieces.read()).value
    await pieces.cancel()
  })

  inBrowser('the console', () => {
    it('F8: filters letters, follows links, and comes back to a deep link after a reload', async () => {
      browser = await openBrowser()
      const { page, complaints } = await openPage(browser)
      const outside: string[] = []
      page.on('request', request => {
        const { pathname } = new URL(request.url())
        if (!pathname.startsWith('/lazaret/') && pathname !== '/lazaret') outside.push(pathname)
      })
      await page.goto(`${nginx.url}/lazaret`)
      await page.waitForURL(`${nginx.url}/lazaret/groups`)
      await page.getByText('Live', { exact: true }).waitFor()

      await page
        .getByRole('navigation')
        .getByRole('link', { name: /^Letters/ })
        .click()
      await page.waitForURL(`${nginx.url}/lazaret/letters`)
      await page.getByLabel('Channel').selectOption('emails')
      await page.getByText('2 letters match').waitFor()
      expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe(
        '/lazaret/letters?channel=emails',
      )

      await page.locator('tbody .row-link').first().click()
      await page.getByRole('heading', { name: 'Replay target' }).waitFor()
      const deep = page.url()
      expect(deep).toMatch(/\/lazaret\/letters\/[0-9a-f-]{36}$/)
      await page.reload()
      await page.getByRole('heading', { name: 'Replay target' }).waitFor()
      expect(page.url()).toBe(deep)

      await page.getByRole('link', { name: 'View group' }).click()
      await page.getByRole('heading', { name: 'Grouping rule' }).waitFor()
      await page.keyboard.press('g')
      await page.keyboard.press('o')
      await page.waitForURL(`${nginx.url}/lazaret/overview`)
      await page.getByText('Letters waiting').waitFor()
      expect({ outside, complaints }).toEqual({ outside: [], complaints: [] })
    })
  })
})
