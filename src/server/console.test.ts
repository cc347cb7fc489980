import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HOME, type ServerWorld, serverWorld } from '../../test/support/server-world.ts'

const INDEX = '<!doctype html><title>Lazaret</title>'
let folder: string
let world: ServerWorld

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-console-'))
  const console = join(folder, 'console')
  await mkdir(join(console, 'assets'), { recursive: true })
  await writeFile(join(folder, 'secret.txt'), 'top secret')
  await writeFile(join(console, 'index.html'), INDEX)
  await writeFile(join(console, 'assets/app-Bx92_k1q.js'), 'run()')
  await writeFile(join(console, 'logo.svg'), '<svg/>')
  world = serverWorld({ consoleDir: console })
})

afterEach(() => rm(folder, { recursive: true }))

describe('the console', () => {
  it('F8: its files are served: those with a hash are cached permanently, the page is always revalidated', async () => {
    const page = await world.ask('/')
    expect([page.status, page.text]).toEqual([200, INDEX])
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    const script = await world.ask('/assets/app-Bx92_k1q.js')
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(script.headers.get('content-type')).toContain('text/javascript')
    expect((await world.ask('/logo.svg')).headers.get('content-security-policy')).toContain(
      "default-src 'none'",
    )
    const etag = page.headers.get('etag')!
    expect((await world.ask('/', { headers: { 'if-none-match': etag } })).status).toBe(304)
  })

  it('F8: any other path is a place in the console; a file that is not there is none', async () => {
    for (const path of ['/groups', '/letters/019c', '/replays/x/y?state=dead'])
      expect((await world.ask(path)).text, path).toBe(INDEX)
    const gone = await world.ask('/assets/gone-12345678.js')
    expect([gone.status, gone.body.detail]).toEqual([
      404,
      'The console has no file /assets/gone-12345678.js. Reload the page.',
    ])
    expect((await world.ask('/api/v2/overview')).text).toBe(INDEX)
    expect((await world.ask('/api/v1/nothing')).status).toBe(404)
  })

  it('F8: no path leads out of its folder', async () => {
    for (const path of [
      '/../secret.txt',
      '/..%2fsecret.txt',
      '/%2e%2e/secret.txt',
      '/assets/..%5c..%5csecret.txt',
      '//secret.txt',
      '/%00/secret.txt',
      `/${encodeURIComponent(join(folder, 'secret.txt'))}`,
    ]) {
      const { status, text } = await world.ask(path)
      expect(text, path).not.toContain('top secret')
      expect([404, 200], path).toContain(status)
      if (status === 200) expect(text).toBe(INDEX)
    }
  })

  it('F8: is sent packed to who takes it so', async () => {
    const request = new Request(`${HOME}/`, { headers: { 'accept-encoding': 'gzip, br' } })
    const response = await world.server.fetch(request)
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(Buffer.from(await response.arrayBuffer())).toString()).toBe(INDEX)
  })

  it('F8: needs no token, because it shows nothing without one', async () => {
    const sha256 = 'a'.repeat(64)
    const closed = serverWorld({
      consoleDir: join(folder, 'console'),
      tokens: [{ name: 'x', role: 'viewer', sha256 }],
    })
    expect((await closed.ask('/')).status).toBe(200)
    expect((await closed.ask('/api/v1/me')).status).toBe(401)
  })

  it('F8: where it is not built, that is said', async () => {
    const { status, body } = await serverWorld({ consoleDir: join(folder, 'nothing') }).ask('/')
    expect([status, body.detail]).toEqual([404, expect.stringContaining('npm run build')])
  })
})
