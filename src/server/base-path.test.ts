import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HOME, type ServerWorld, serverWorld } from '../../test/support/server-world.ts'
import { ROUTES } from './routes/index.ts'

const BASE = '/ops/lazaret'
const PAGE = `<meta name="lazaret-base-path" content="" />
<link href="./flag.svg"><script src="./assets/main-DZgdxmUX.js"></script><a href="#main">`

let folder: string
let world: ServerWorld
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-console-'))
  await writeFile(join(folder, 'index.html'), PAGE)
  await writeFile(join(folder, 'flag.svg'), '<svg/>')
  world = serverWorld({ basePath: `${BASE}/`, consoleDir: folder })
})
afterEach(async () => {
  await world.server.close()
  await rm(folder, { recursive: true })
})

describe('a server below a path', () => {
  it('F8: answers every route there, and nowhere else', async () => {
    const statuses = async (prefix: string) => {
      const asked = ROUTES.map(({ method, path }) =>
        world.ask(prefix + path.replaceAll(/:\w+/g, 'x'), {
          method,
          ...(method === 'GET' ? {} : { json: {} }),
        }),
      )
      return (await Promise.all(asked)).map(({ body }) => body?.detail ?? '')
    }
    const outside =
      'The paths of this server begin with /ops/lazaret/. If a proxy removes that, let it pass the whole path on.'
    expect(new Set(await statuses(''))).toEqual(new Set([outside]))
    expect(new Set(await statuses('/ops'))).toEqual(new Set([outside]))
    expect(new Set(await statuses('/ops/lazaret-too'))).toEqual(new Set([outside]))
    expect(await statuses(BASE)).not.toContain(outside)
    for (const path of ['/', '/groups', '/ops', '/flag.svg', '/ops/LAZARET/healthz'])
      expect((await world.ask(path)).status, path).toBe(404)
    expect((await world.ask(`${BASE}/readyz`)).status).toBe(200)
    expect((await world.ask(`${BASE}/metrics`)).status).toBe(200)
  })

  it('F8: names its own path in problems and in the OpenAPI document', async () => {
    const unknown = await world.ask(`${BASE}/api/v1/nothing`)
    expect(unknown.body).toMatchObject({
      status: 404,
      detail: 'Unknown path. /ops/lazaret/api/v1/openapi.json lists all paths.',
      instance: `${BASE}/api/v1/nothing`,
    })
    const wrong = await world.ask(`${BASE}/api/v1/overview`, { method: 'PATCH' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const { body } = await world.ask(`${BASE}/api/v1/openapi.json`)
    expect(body.servers).toEqual([{ url: BASE }])
  })

  it('F8: writes its path into the page of the console, for files and for the console itself', async () => {
    const placed = `<meta name="lazaret-base-path" content="/ops/lazaret" />
<link href="/ops/lazaret/flag.svg"><script src="/ops/lazaret/assets/main-DZgdxmUX.js"></script><a href="#main">`
    for (const path of [BASE, `${BASE}/`, `${BASE}/groups`, `${BASE}/letters/019c?state=dead`])
      expect((await world.ask(path)).text, path).toBe(placed)
    expect((await world.ask(`${BASE}/flag.svg`)).text).toBe('<svg/>')
    const elsewhere = serverWorld({ consoleDir: folder })
    expect((await elsewhere.ask('/letters/019c')).text).toContain(
      '<link href="/flag.svg"><script src="/assets/main-DZgdxmUX.js">',
    )
    const tagOf = async ({ ask }: ServerWorld, path: string) => (await ask(path)).headers.get('etag')
    expect(await tagOf(elsewhere, `${BASE}/groups`)).not.toBe(await tagOf(world, `${BASE}/groups`))
  })

  it('F8: mounts in a Hono app with its console', async () => {
    const app = new Hono()
      .get('/own', context => context.text('mine'))
      .all(`${BASE}/*`, context => world.server.fetch(context.req.raw))
    expect(await (await app.request(`${HOME}/own`)).text()).toBe('mine')
    expect((await app.request(`${HOME}${BASE}/api/v1/overview`)).status).toBe(200)
    expect(await (await app.request(`${HOME}${BASE}/groups`)).text()).toContain(`src="${BASE}/assets/`)
  })

  it('F8: / and nothing are the root; listen() tells the whole address', async () => {
    for (const basePath of ['/', '', undefined])
      expect((await serverWorld({ basePath }).ask('/healthz')).status, basePath).toBe(200)
    const { url, close } = await world.server.listen({ port: 0 })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ops\/lazaret$/)
    await close()
  })

  it.each([
    'lazaret',
    '//lazaret',
    '/a//b',
    '/../lazaret',
    '/ops/.',
    '/ops?x',
    '/ops/:id',
    '/ops/*',
    '/%6fps',
    '/ops"><script>',
    'https://ops.example/lazaret',
    '/ops\n',
  ])('F8: refuses the base path %j with one clear error', basePath => {
    expect(() => serverWorld({ basePath })).toThrow(
      `server.basePath: got ${JSON.stringify(basePath)}; give a path such as '/lazaret'`,
    )
  })
})
