import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dumpStore, type ServerWorld, serverWorld } from '../../test/support/server-world.ts'
import type { Route } from './http/route.ts'
import { ROUTES } from './routes/index.ts'

const HOSTILE = [
  '',
  ' ',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '..%2f..%2f',
  '%00',
  '\u0000',
  "'; drop table letters; --",
  '<script>',
  '💥',
  '\ud800',
  '-1',
  '1e308',
  'NaN',
  '0x10',
  'null',
  'x'.repeat(3_000),
  '2026-02-30T00:00:00Z',
  'eyJtYWluIjpbbnVsbCwtMV19',
  'WyJyZWdyZXNzZWQiLFtudWxsXSwieCJd',
  '1_2_3',
  ...[{ main: ['99', 0] }, { main: ['abc', 0] }, { main: ['1e999', 1] }, { other: [null, 0] }, {}].map(
    places => Buffer.from(JSON.stringify(places)).toString('base64url'),
  ),
]
const word = fc.oneof(fc.constantFrom(...HOSTILE), fc.string(), fc.string({ unit: 'binary' }))
const FIELDS = [
  'filter',
  'ids',
  'reason',
  'store',
  'patch',
  'stages',
  'perSecond',
  'state',
  'note',
  'handler',
  'to',
]
const FIELDS_TOO = ['expectedCount', 'maxAgeMs', 'mutedUntil', 'owner', 'link', 'limit', 'cursor', 'after']
const name = fc.oneof(
  fc.constantFrom(...FIELDS, ...FIELDS_TOO, '__proto__', 'channel', 'search', 'sort'),
  word,
)
const value = fc.oneof(fc.jsonValue(), word, fc.constantFrom(Number.MAX_VALUE, -0, [], {}, null, true))
/** Never a valid change: `reason` is not a text, or there is an unknown field. */
const body = fc
  .dictionary(name, value, { maxKeys: 6 })
  .map(fields => JSON.stringify({ ...fields, 'no such field': 1 }))
const text = fc.oneof(body, fc.json(), fc.string(), fc.constantFrom('{', '[[[[', '"', '\u0000', '{"reason":'))

const asked = (route: Route<never>) =>
  fc.record({
    params: fc.array(word, { minLength: 2, maxLength: 2 }),
    query: fc.array(fc.tuple(name, word), { maxLength: 4 }),
    body: text,
    type: fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/plain', 'x'),
    route: fc.constant(route),
  })

function pathOf({ path }: Route<never>, params: readonly string[]): string {
  let next = 0
  return path.replace(/:\w+/g, () => encodeURIComponent(wellFormed(params[next++]!)) || 'x')
}

function wellFormed(text: string): string {
  return text.toWellFormed()
}

async function filled(): Promise<ServerWorld> {
  const world = serverWorld({ rateLimit: { perSecond: 1_000_000, burst: 1_000_000 } })
  await world.bury(world.make.letter(), world.make.letter({ reason: 'poison' }))
  await world.tell('/api/v1/replays', { filter: {}, reason: 'x' })
  return world
}

/** A search with the right to see payloads is written to the audit, and that is all a question may write. */
async function withoutSearches({ store }: ServerWorld): Promise<unknown> {
  const { entries, ...rest } = await dumpStore(store)
  return { ...rest, entries: entries.filter(({ action }) => !action.endsWith('.search')) }
}

describe('whatever is asked', () => {
  it.each(
    ROUTES.filter(({ media }) => media === undefined).map(
      route => [`${route.method} ${route.path}`, route] as const,
    ),
  )('F8: %s answers below 500, and a senseless change changes nothing', async (_, route) => {
    const world = await filled()
    const before = await dumpStore(world.store)
    await fc.assert(
      fc.asyncProperty(asked(route), async ({ params, query, body: sent, type }) => {
        const search = new URLSearchParams(
          query.map(([key, each]): [string, string] => [wellFormed(key), wellFormed(each)]),
        )
        const isChange = route.method !== 'GET'
        const { status, text: said } = await world.ask(`${pathOf(route, params)}?${search}`, {
          method: route.method,
          ...(isChange ? { body: sent, headers: { 'content-type': type } } : {}),
        })
        expect(status, said).toBeLessThan(500)
        if (isChange) expect(status, said).toBeGreaterThanOrEqual(400)
      }),
      { numRuns: 60 },
    )
    expect(world.errors).toEqual([])
    expect(await withoutSearches(world)).toEqual(before)
  })

  it('F8: any path and method is answered too', async () => {
    const world = await filled()
    const before = await dumpStore(world.store)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
        fc.array(fc.oneof(word, fc.constantFrom('api', 'v1', 'dead-letters', 'replays', '..', '.')), {
          maxLength: 5,
        }),
        async (method, steps) => {
          const path = `/${steps.map(step => encodeURIComponent(wellFormed(step))).join('/')}`
          const { status, text: said } = await world.ask(path, { method })
          expect(status, `${method} ${path} ${said}`).toBeLessThan(500)
        },
      ),
      { numRuns: 300 },
    )
    expect(await dumpStore(world.store)).toEqual(before)
  })
})
