import { expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/index.ts'
import { consoleInBrowser } from '../support/console-in-browser.ts'
import { openPage } from '../support/console-page.ts'
import { serveLetters } from '../support/console-server.ts'
import { inBrowser } from '../support/in-browser.ts'

const SCRIPT = '<script>window.pwned = 1</script>'
const PICTURE = '<svg onload="window.pwned = 1"><image href=x onerror="window.pwned = 1"></svg>'
const TURNED = 'invoice\u202efdp.exe'
const TEXT = `${SCRIPT}${PICTURE}{{7*7}}\${window.pwned=1}javascript:alert(1)`

const { letter, event } = createFactory({ clock: systemClock })

function deep(levels: number): unknown {
  let value: unknown = 'the bottom'
  for (let level = 0; level < levels; level++) value = { in: value }
  return value
}

/** Everything that text can be made of is made of it: payload, headers, error, stack, names. */
function hostile(payload: unknown, name = 'HostileError') {
  const error = Object.assign(new Error(`${TEXT} ${TURNED}`), { name, code: 'E<b>CODE</b>' })
  error.stack = `${name}: ${TEXT}\n    at ${SCRIPT} (/srv/${PICTURE}.ts:1:1)`
  return letter({
    error,
    event: event({
      type: 'order<i>placed</i>',
      key: `key ${SCRIPT}`,
      headers: { 'x-html': TEXT, 'x-turned': TURNED },
      payload,
    }),
    release: SCRIPT,
    host: PICTURE,
  })
}

const LETTERS = {
  texts: hostile({ html: TEXT, turned: TURNED, [SCRIPT]: 'in a name' }, 'TextError'),
  prototype: hostile(
    JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}'),
    'ProtoError',
  ),
  deep: hostile(deep(60), 'DeepError'),
  huge: hostile(
    { line: 'x'.repeat(200_000), rows: Array.from({ length: 5_000 }, (_, row) => ({ row })) },
    'HugeError',
  ),
  bytes: hostile(new Uint8Array([0, 255, 60, 115, 99, 114]), 'BytesError'),
}

const opened = consoleInBrowser(() => serveLetters(Object.values(LETTERS)))

/** Opens a screen and says what became of it. */
async function look(path: string) {
  const { page, complaints } = await openPage(opened.browser)
  await page.goto(opened.server.url + path)
  await page.locator('main:not(:has(.waiting)) h1').waitFor()
  return { page, complaints }
}

async function expectHarmless({ page, complaints }: Awaited<ReturnType<typeof look>>): Promise<void> {
  expect(await page.evaluate('window.pwned')).toBeUndefined()
  expect(await page.evaluate('({}).polluted')).toBeUndefined()
  // None of it became an element, an attribute that runs, or a link out.
  expect(
    await page.locator('main script, main image, main [onload], main [onerror], main i, main b').count(),
  ).toBe(0)
  expect(await page.locator('a[href^="javascript:"]').count()).toBe(0)
  expect(complaints).toEqual([])
  await page.context().close()
}

inBrowser('hostile payloads', () => {
  it('F8: script, markup and turned text are shown as text on every screen', async () => {
    const { groups } = (await (await fetch(`${opened.server.url}/api/v1/groups`)).json()) as {
      groups: { id: string }[]
    }
    const paths = [
      '/overview',
      '/groups',
      ...groups.map(({ id }) => `/groups/${id}`),
      '/letters',
      `/letters?search=${encodeURIComponent(SCRIPT)}`,
      `/letters/${LETTERS.texts.id}`,
      `/letters/${LETTERS.texts.id}?tab=cycles`,
      `/replays/new?type=${encodeURIComponent(TEXT)}`,
      `/replays/new?ids=${LETTERS.texts.id},${encodeURIComponent(SCRIPT)}`,
      `/groups/${encodeURIComponent(SCRIPT)}`,
      `/${encodeURIComponent(SCRIPT)}`,
    ]
    // Each page is a separate document with a new window object.
    const { page } = await openPage(opened.browser)
    for (const path of paths) {
      await page.goto(opened.server.url + path)
      await page.locator('main:not(:has(.waiting)) :is(h1, h2)').first().waitFor()
      expect(await page.evaluate('window.pwned'), path).toBeUndefined()
      expect(await page.locator('main script, main image, main [onload], main i, main b').count(), path).toBe(
        0,
      )
    }
    await page.context().close()
  })

  it('F8: the letter shows what was sent, to the letter, with what cannot be seen named', async () => {
    const opened = await look(`/letters/${LETTERS.texts.id}`)
    const { page } = opened
    const shown = await page.getByRole('region', { name: 'Payload' }).innerText()
    expect(shown).toContain(JSON.stringify(SCRIPT).slice(1, -1))
    expect(shown).toContain('invoice⟨U+202E⟩fdp.exe')
    expect(await page.locator('.headers').innerText()).toContain(TEXT)
    expect(await page.locator('h1').innerText()).toContain(SCRIPT)
    await expectHarmless(opened)
  })

  it('F8: names of the prototype are data like any other', async () => {
    const opened = await look(`/letters/${LETTERS.prototype.id}`)
    const shown = await opened.page.getByRole('region', { name: 'Payload' }).innerText()
    expect(shown).toContain('"__proto__": {')
    expect(shown).toContain('"polluted": true')
    await expectHarmless(opened)
  })

  it('F8: a deep payload is shown, and a huge one in pieces', async () => {
    await expectHarmless(await look(`/letters/${LETTERS.deep.id}`))
    const opened = await look(`/letters/${LETTERS.huge.id}`)
    const payload = opened.page.getByRole('region', { name: 'Payload' })
    expect(await payload.locator('.line').count()).toBeLessThanOrEqual(400)
    expect(await payload.innerText()).toMatch(/… 19\d \d{3} more characters/)
    await opened.page.getByRole('button', { name: /more lines of/ }).click()
    expect(await payload.locator('.line').count()).toBeGreaterThan(400)
    await expectHarmless(opened)
  })

  it('F8: bytes are told by their number, and shown in base64 when revealed', async () => {
    const opened = await look(`/letters/${LETTERS.bytes.id}`)
    const { page } = opened
    expect(await page.getByRole('region', { name: 'Payload' }).innerText()).toContain('[6 bytes]')
    await page.getByRole('button', { name: 'Reveal payload…' }).click()
    await page.getByLabel('Reason', { exact: true }).fill('what is in it?')
    await page.getByRole('dialog').getByRole('button', { name: 'Reveal payload' }).click()
    expect(await page.getByRole('region', { name: 'Payload in base64' }).innerText()).toBe('AP88c2Ny')
    await expectHarmless(opened)
  })
})
