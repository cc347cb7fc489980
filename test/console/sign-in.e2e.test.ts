import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStore } from '../../src/adapters/memory/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import type { Store } from '../../src/ports/store.ts'
import { type Consumer, createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createServer, type LazaretServer } from '../../src/server/index.ts'
import { createFactory } from '../../src/testing/index.ts'
import { openBrowser } from '../services/chromium.ts'
import { freePorts } from '../services/free-ports.ts'
import { accessibilityViolations, expectFreshConsole, openPage } from '../support/console-page.ts'
import { inBrowser } from '../support/in-browser.ts'
import { CLIENT, type RealProvider, startProvider } from '../support/oidc-provider.ts'
import { SECRET } from '../support/sign-in-world.ts'
import { startTlsProxy, type TlsProxy } from '../support/tls-proxy.ts'

const BASE = '/ops/lazaret'
const MOST_TABS = 150
const { letter } = createFactory({ clock: systemClock })
const origin = { broker: 'memory' }
const LETTERS = [letter({ origin }), letter({ origin }), letter({ origin })]
const GROUP = LETTERS[0]!.cycle.failure!.fingerprint.id

let browser: Browser
let store: Store
let consumer: Consumer
let server: LazaretServer
let proxy: TlsProxy
let provider: RealProvider
/** What people open: https, with another port than that of the server. */
let publicUrl: string
let backend = ''

inBrowser('signing in with a real provider, behind a proxy that ends TLS, below a path', () => {
  beforeAll(async () => {
    expectFreshConsole()
    browser = await openBrowser()
    const [port] = await freePorts(1)
    publicUrl = `https://127.0.0.1:${port}${BASE}`
    provider = await startProvider(publicUrl, { ola: ['sre'], vic: ['staff'], eve: [] })
    store = memoryStore()
    for (const each of LETTERS) await store.deadLetters.send(each)
    consumer = createConsumer({
      broker: store.broker!,
      deadLetters: store.deadLetters,
      channel: 'orders',
      name: 'bill',
      handle() {},
    })
    await consumer.start()
    server = createServer({
      stores: store,
      consumers: [consumer],
      basePath: BASE,
      signIn: {
        publicUrl,
        session: { secrets: [SECRET] },
        oidc: {
          issuer: provider.issuer,
          clientId: CLIENT.id,
          clientSecret: CLIENT.secret,
          label: 'Example account',
          scopes: ['openid', 'email', 'groups'],
          roles: { sre: 'operator', staff: 'viewer' },
        },
      },
    })
    backend = (await server.listen({ port: 0 })).url
    proxy = await startTlsProxy(port!, () => backend)
  })
  afterAll(async () => {
    await browser?.close()
    await proxy?.close()
    await server?.close()
    await consumer?.close()
    await provider?.close()
    await store?.close()
  })

  it('"from a Slack link through sign-in to a finished replay": by keyboard alone', async () => {
    const { page, complaints } = await openPage(browser, { ignoresCertificates: true })
    const link = `${publicUrl}/groups/${GROUP}`
    await page.goto(link)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await accessibilityViolations(page)).toEqual([])
    // The link to the provider has the focus.
    await page.locator('a:focus', { hasText: 'Sign in with Example account' }).waitFor()
    await page.keyboard.press('Enter')
    await signInAtProvider(page, 'ola')
    await page.waitForURL(link)
    await page.getByRole('heading', { name: 'Common values' }).waitFor()
    // Before, the server refused to show anything, and the pages of the provider ask for fonts of the internet.
    const before = complaints.length
    expect(await page.locator('.who').innerText()).toContain('ola@example.com (oidc) · operator')

    await press(page, page.getByRole('link', { name: 'Plan replay' }))
    for (const next of ['target and edits', 'pace and halt rules', 'reason and check'])
      await press(page, page.getByRole('button', { name: `Next: ${next}` }))
    await focus(page, page.getByLabel('Reason for replay'))
    await page.keyboard.type('the bank is back')
    await press(page, page.getByRole('button', { name: 'Freeze and check' }))
    await press(page, page.getByRole('button', { name: 'Start: send 3 letters' }))
    await press(page, page.getByRole('dialog').getByRole('button', { name: /^Start: send/ }))
    await page.locator('.page-head').getByText('finished').waitFor()
    const audited = (await store.audit.list({ limit: 50 })).entries.map(({ by, action }) => `${by} ${action}`)
    expect(audited).toEqual(
      expect.arrayContaining(['ola@example.com (oidc) replay.plan', 'ola@example.com (oidc) replay.start']),
    )
    expect(complaints.slice(before)).toEqual([])

    await showsTheSameInAnotherTab(page)
    await isNoUseToAnotherSite(page)
    await signsOut(page)
  })

  it('F8: a person without a role is told so, at the link that was opened', async () => {
    const { page } = await openPage(browser, { ignoresCertificates: true })
    await page.goto(`${publicUrl}/letters?channel=orders`)
    await page.getByRole('link', { name: 'Sign in with Example account' }).click()
    await signInAtProvider(page, 'eve')
    await page.getByText('None of your groups has a role here.').waitFor()
    expect(page.url()).toBe(`${publicUrl}/letters?channel=orders#sign-in-problem=no-role`)
  })

  it('F8: a session that ends while the console is open shows the sign-in', async () => {
    const { page } = await openPage(browser, { ignoresCertificates: true })
    await page.goto(`${publicUrl}/letters`)
    await page.getByRole('link', { name: 'Sign in with Example account' }).click()
    await signInAtProvider(page, 'vic')
    await page.getByRole('heading', { name: 'Letters' }).waitFor()
    expect(await page.locator('.who').innerText()).toContain('vic@example.com (oidc) · viewer')
    await page.context().clearCookies({ name: '__Secure-lazaret-session' })
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })
})

/** The pages of the provider: a name, any password, and the consent at the first time. */
async function signInAtProvider(page: Page, name: string): Promise<void> {
  await page.waitForURL(`${provider.issuer}/**`)
  await focus(page, page.locator('input[name=login]'))
  await page.keyboard.type(name)
  await page.keyboard.press('Tab')
  await page.keyboard.type('any')
  await page.keyboard.press('Enter')
  await press(page, page.getByRole('button', { name: 'Continue' }))
}

/** Tabs to an element, as a person without a mouse does. */
async function focus(page: Page, target: Locator): Promise<void> {
  await target.first().waitFor()
  const isThere = () => target.first().evaluate(element => element === element.ownerDocument.activeElement)
  for (let tabs = 0; !(await isThere()); tabs++) {
    expect(tabs, `Tab reaches ${target}`).toBeLessThan(MOST_TABS)
    await page.keyboard.press('Tab')
  }
}

async function press(page: Page, target: Locator): Promise<void> {
  await focus(page, target)
  await page.keyboard.press('Enter')
}

async function showsTheSameInAnotherTab(page: Page): Promise<void> {
  const cookies = (await page.context().cookies(publicUrl)).filter(({ name }) => name.includes('lazaret'))
  expect(cookies).toEqual([
    expect.objectContaining({
      name: '__Secure-lazaret-session',
      path: BASE,
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
    }),
  ])
  expect(await page.evaluate('document.cookie')).toBe('')
  const other = await page.context().newPage()
  await other.goto(`${publicUrl}/letters`)
  await other.getByText('ola@example.com (oidc)').waitFor()
  await other.getByText('Live', { exact: true }).waitFor()
  await other.close()
}

/** A page of another site tries everything that a page can: requests with cookies, and a form. */
async function isNoUseToAnotherSite(page: Page): Promise<void> {
  const fresh = letter({ origin })
  await store.deadLetters.send(fresh)
  const target = `${publicUrl}/api/v1/dead-letters/${fresh.id}/discard`
  const evil = createHttpServer((_, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        `<form method="post" enctype="text/plain" action="${target}"><input name='{"reason":"x","a":"' value='"}'></form>`,
      ),
  )
  await new Promise<void>(resolve => evil.listen(0, '127.0.0.1', resolve))
  const tab = await page.context().newPage()
  try {
    await tab.goto(`http://localhost:${(evil.address() as AddressInfo).port}/`)
    const tries = await tab.evaluate<string[]>(`(async () => {
      const body = JSON.stringify({ reason: 'x' })
      const send = how => fetch(${JSON.stringify(target)}, { method: 'POST', body, credentials: 'include', ...how })
        .then(response => response.type, () => 'blocked')
      return [
        await send({ mode: 'no-cors' }),
        await send({ headers: { 'content-type': 'application/json' } }),
        await send({ headers: { 'x-lazaret-console': 'active' } }),
      ]
    })()`)
    expect(tries).toEqual(['blocked', 'blocked', 'blocked'])
    const [answer] = await Promise.all([
      tab.waitForResponse(target),
      tab.evaluate('document.forms[0].submit()'),
    ])
    expect([401, 403]).toContain(answer.status())
    expect((await store.deadLetters.get(fresh.id))!.state).toBe('dead')
  } finally {
    await tab.close()
    await new Promise(resolve => evil.close(resolve))
  }
}

async function signsOut(page: Page): Promise<void> {
  await press(page, page.locator('.who').getByRole('button', { name: 'Sign out' }))
  await page.waitForURL(`${provider.issuer}/session/end**`)
  await press(page, page.getByRole('button', { name: /sign me out/i }))
  await page.waitForURL(url => url.href.startsWith(publicUrl))
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  const cookies = (await page.context().cookies(publicUrl)).map(({ name }) => name)
  expect(cookies.filter(name => name.includes('lazaret'))).toEqual(['__Secure-lazaret-signed-out'])
}
