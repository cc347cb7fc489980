import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dumpStore, PEOPLE, type Question, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { asProxied, asSession, SIGN_IN } from '../../test/support/sign-in-world.ts'
import { ROLES, type Role } from '../core/options/sign-in.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { joinFleet } from '../runtime/fleet/join-fleet.ts'
import { ROUTES } from './routes/index.ts'
import { action } from './schema/me.ts'

interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
}
interface Described {
  readonly name: string
  readonly description?: string
}
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters: readonly Described[]
  readonly 'x-lazaret-action'?: string
  readonly requestBody?: unknown
  readonly responses: Record<string, unknown>
}

const FEWEST_PARAMETERS = 50
const FEWEST_FIELDS = 500

/** A body that each change would take, so that nothing but the permission can refuse it. */
const BULK = {
  filter: {},
  expectedCount: 2,
  until: '2026-01-01T00:00:00Z',
  digest: '0'.repeat(64),
  reason: 'x',
}
const BODIES: Readonly<Record<string, unknown>> = {
  '/api/v1/groups/{id}': { state: 'resolved', note: 'x' },
  '/api/v1/channels/{channel}/breaker': { handler: 'bill', to: 'open', reason: 'x' },
  '/api/v1/fleet/commands': { task: 'pause', channel: 'orders', reason: 'x' },
  '/api/v1/views': { name: 'mine', shared: true, filter: { channel: 'orders' } },
  '/api/v1/views/delete': { name: 'mine', shared: true },
  '/api/v1/dead-letters/purge': { ...BULK },
  '/api/v1/dead-letters/purge/preview': { filter: {} },
  '/api/v1/dead-letters/discard': { ...BULK },
  '/api/v1/dead-letters/discard/preview': { filter: {} },
  '/api/v1/dead-letters/release': { ...BULK },
  '/api/v1/dead-letters/release/preview': { filter: {} },
  '/api/v1/dead-letters/assign': { ...BULK, owner: 'ada' },
  '/api/v1/dead-letters/assign/preview': { filter: {} },
  '/api/v1/dead-letters/export': { ...BULK, format: 'csv' },
  '/api/v1/dead-letters/export/preview': { filter: {} },
  '/api/v1/replays': { filter: {}, reason: 'x' },
  '/api/v1/replays/preview': { filter: {} },
  '/api/v1/demo/{action}': {},
}

async function world(readOnly: boolean) {
  const base = serverWorld()
  const consumer = createConsumer({
    broker: base.store.broker!,
    channel: 'orders',
    name: 'bill',
    deadLetters: base.store.deadLetters,
    clock: base.clock,
    handle: () => {},
  })
  await consumer.start()
  const [letter] = await base.bury(base.make.letter(), base.make.letter())
  joinFleet({ store: base.store, service: 'shop', consumers: [consumer], clock: base.clock })
  await base.clock.advance(0)
  const asked = await base.tell('/api/v1/fleet/commands', {
    task: 'resume',
    channel: 'orders',
    reason: 'x',
  })
  const [request] = asked.body.requests
  const plan = await base.tell('/api/v1/replays', { filter: {}, reason: 'x' })
  const pressed: string[] = []
  const demo = {
    state: () => ({ title: 'x', steps: [] }),
    act: async (name: string) => {
      pressed.push(name)
      return { title: 'x', steps: [] }
    },
  }
  const guarded = serverWorld({
    stores: base.store,
    consumers: [consumer],
    clock: base.clock,
    tokens: PEOPLE,
    signIn: SIGN_IN,
    readOnly,
    extensions: { demo },
  })
  const ids: Record<string, string> = {
    'dead-letters': letter!.id,
    groups: letter!.cycle.failure!.fingerprint.id,
    replays: plan.body.id,
  }
  const pathOf = (path: string) =>
    path
      .replace(/\{id\}/, () => ids[path.split('/')[3]!]!)
      .replace('{channel}', 'orders')
      .replace('{instance}', request.commands[0].instance)
      .replace('{request}', request.id)
      .replace('{action}', 'deploy')
  const { body } = await guarded.ask('/api/v1/openapi.json')
  const routes = Object.entries((body as Document).paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
  )
  const bodyOf = (path: string) => BODIES[path] ?? (path.includes('/replays/') ? {} : { reason: 'x' })
  return { ...guarded, store: base.store, consumer, pressed, routes, pathOf, bodyOf }
}

const OPEN_PATHS = ['/api/v1/openapi.json', '/api/v1/sign-in', '/api/v1/stream']

const deletingLast = (a: { readonly path: string }, b: { readonly path: string }) =>
  Number(a.path.endsWith('purge')) - Number(b.path.endsWith('purge'))

describe('every route of the OpenAPI document', () => {
  it('F8: a query parameter that a route does not know is refused, and nothing is done', async () => {
    const { ask, routes, pathOf, bodyOf, store } = await world(false)
    const before = await dumpStore(store)
    // Probes and scrapers may add parameters of their own.
    const strict = routes.filter(({ path }) => path.startsWith('/api/v1/') && !OPEN_PATHS.includes(path))
    for (const { path, method } of strict) {
      const { status, body } = await ask(`${pathOf(path)}?stroe=main`, {
        method,
        token: secretOf('ada'),
        ...(method === 'GET' ? {} : { json: bodyOf(path) }),
      })
      expect(status, `${method} ${path}`).toBe(400)
      expect(JSON.stringify(body.faults), `${method} ${path}`).toContain('stroe')
    }
    expect(await dumpStore(store)).toEqual(before)
  })

  it.each([
    ['a viewer', false, 'vic'],
    ['an admin of a read-only server', true, 'ada'],
  ])('F8: %s changes nothing through any of them', async (_, readOnly, name) => {
    const { ask, routes, pathOf, bodyOf, store, consumer, pressed } = await world(readOnly)
    const before = { store: await dumpStore(store), health: consumer.health() }
    for (const { path, method } of routes) {
      const isChange = method !== 'GET'
      const { status, text } = await ask(pathOf(path), {
        method,
        token: secretOf(name),
        ...(isChange ? { json: bodyOf(path) } : {}),
      })
      if (isChange) expect(status, `${method} ${path}: ${text}`).toBe(403)
      else expect(status, `${method} ${path}: ${text}`).toBe(200)
    }
    expect({ store: await dumpStore(store), health: consumer.health() }).toEqual(before)
    expect(pressed).toEqual([])
  })

  it('F8: refuses a viewer before it reads the query', async () => {
    const { ask } = await world(false)
    const asked = { method: 'PATCH', token: secretOf('vic'), json: {} }
    expect((await ask('/api/v1/groups/x?store=a&store=b', asked)).status).toBe(403)
  })

  // Each kind of sign-in, as a person of each role sends its requests.
  const kinds: Readonly<Record<string, (role: Role, now: number) => Question>> = {
    token: each => ({ token: secretOf(PEOPLE.find(person => person.role === each)!.name) }),
    session: (each, now) => asSession('ann@example.com', [each], now),
    proxy: each => asProxied('ann', each),
  }
  const matrix = Object.keys(kinds).flatMap(kind => ROLES.map(each => [each, kind] as const))

  it.each(matrix)('F8: %s, known by a %s, may run exactly the actions of the role', async (each, kind) => {
    const { ask, routes, pathOf, bodyOf, clock } = await world(false)
    const caller = () => kinds[kind]!(each, clock.now())
    const { body: me } = await ask('/api/v1/me', caller())
    const ADMIN_ONLY = ['letters.purge']
    for (const { path, method, operation } of routes.toSorted(deletingLast)) {
      const wanted = operation['x-lazaret-action']
      const isChange = method !== 'GET'
      const asked = { method, ...caller(), ...(isChange ? { json: bodyOf(path) } : {}) }
      const { status, text } = await ask(pathOf(path), asked)
      const isAllowed =
        !isChange || each === 'admin' || (each === 'operator' && !ADMIN_ONLY.includes(wanted!))
      expect(status === 403, `${each} ${kind} ${method} ${path} ${status} ${text.slice(0, 200)}`).toBe(
        !isAllowed,
      )
      expect(status).not.toBe(401)
      if (isChange) expect(me.can[wanted!].allowed, wanted).toBe(isAllowed)
    }
  })

  it('F8: the same requests of an admin all get through, so the test above tests something', async () => {
    const { ask, routes, pathOf, bodyOf } = await world(false)
    const refused: string[] = []
    // Deleting comes last, or the others would have nothing to work on.
    for (const { path, method } of routes.toSorted(deletingLast)) {
      if (method === 'GET') continue
      const { status } = await ask(pathOf(path), { method, token: secretOf('ada'), json: bodyOf(path) })
      if (status === 401 || status === 403 || status === 400 || status >= 500)
        refused.push(`${path} ${status}`)
    }
    expect(refused).toEqual([])
  })

  it('F8: without a token none but the public ones says anything', async () => {
    const { ask, routes, pathOf, bodyOf } = await world(false)
    for (const { path, method } of routes) {
      const { status } = await ask(pathOf(path), {
        method,
        ...(method === 'GET' ? {} : { json: bodyOf(path) }),
      })
      const isPublic =
        (!path.startsWith('/api/') && path !== '/metrics') || /\/(openapi\.json|sign-in)$/.test(path)
      expect(status === 401, `${method} ${path} ${status}`).toBe(!isPublic)
    }
  })

  it('F8: says what it is for, what it takes and what it answers', async () => {
    const { routes } = await world(false)
    expect(routes).toHaveLength(ROUTES.length)
    const ids = routes.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, method, operation } of routes) {
      expect(operation.summary, path).toMatch(/^[A-Z].*\.$/)
      expect(Object.keys(operation.responses), path).toContain('default')
      expect(operation.requestBody !== undefined, path).toBe(method !== 'GET')
      expect(
        operation['x-lazaret-action'] !== undefined,
        `${method} ${path}: a change names its action`,
      ).toBe(method !== 'GET')
    }
    const actions = new Set(routes.map(({ operation }) => operation['x-lazaret-action']))
    for (const each of action.options) expect(actions).toContain(each)
  })

  it('F8: names every status that it answers in its own form', async () => {
    const { routes } = await world(false)
    const statuses = (path: string, method: string) =>
      Object.keys(routes.find(each => each.path === path && each.method === method)!.operation.responses)
    expect(statuses('/healthz/consumer', 'GET')).toEqual(['200', '503', 'default'])
    expect(statuses('/readyz', 'GET')).toEqual(['200', '503', 'default'])
    expect(statuses('/api/v1/replays', 'POST')).toEqual(['201', 'default'])
    for (const { method, path, status } of ROUTES)
      expect(status !== undefined, `${method} ${path}`).toBe(
        ROUTES.find(each => each.method === method && each.path === path)!.statuses !== undefined,
      )
  })

  it('F8: describes every parameter and every field in a plain sentence', async () => {
    const { ask, routes } = await world(false)
    const { body } = await ask('/api/v1/openapi.json')
    const parameters = routes.flatMap(({ path, operation }) =>
      operation.parameters.map(({ name, description }) => [`${path} ?${name}`, description] as const),
    )
    const described = [...parameters, ...fieldsIn(body, '')]
    // A walk that reads the document wrongly finds nothing to complain about, so the test expects a number of fields first.
    expect(parameters.length).toBeGreaterThan(FEWEST_PARAMETERS)
    expect(described.length).toBeGreaterThan(FEWEST_FIELDS)
    const poor = described.filter(([, description]) => !/^[A-Z`].{6,}\.$/.test(description ?? ''))
    expect(poor).toEqual([])
  })

  it('F8: is in the reference', () => {
    const page = readFileSync(new URL('../../docs/reference/http.md', import.meta.url), 'utf8')
    const missing = ROUTES.map(({ method, path }) => `| \`${method} ${path}\` |`).filter(
      row => !page.includes(row),
    )
    expect(missing).toEqual([])
    const documented = [...page.matchAll(/^\| `(?:GET|POST|PATCH) \/\S+` \|/gm)]
    expect(documented).toHaveLength(ROUTES.length)
  })
})

/** The fields of every schema below a part of the document, each with its description. */
function fieldsIn(part: unknown, path: string): (readonly [path: string, description: string | undefined])[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) => {
    const below = fieldsIn(value, `${path}/${name}`)
    if (name !== 'properties') return below
    const own = Object.entries(value as Record<string, { readonly description?: string }>)
    return [...own.map(([field, { description }]) => [`${path}/${field}`, description] as const), ...below]
  })
}
