import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findRedis } from '../../test/services/redis.ts'
import { cliWorld } from '../../test/support/cli.ts'
import { checkEveryVerb, LINES, OpenStores, sortedLines } from '../../test/support/cli-stores.ts'
import { uniqueName } from '../testing/conformance/harness.ts'

const found = await findRedis()
const server = found.found ? await found.start() : undefined
const folder = await mkdtemp(join(tmpdir(), 'lazaret-redis-cli-'))
const stores = new OpenStores()
afterEach(() => stores.close())
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true })
})
const why = found.found ? '' : ` (skipped: ${found.why})`
const { lazaretWith } = cliWorld(folder)
const anew = () => `${server!.url}/0?prefix=${uniqueName('cli')}`
const config = (...words: string[]) => server!.node!.command('CONFIG', 'SET', ...words)

describe.runIf(found.found)(`the command line on Redis${why}`, () => {
  it('F8: every verb that needs no consumer does its work', () =>
    checkEveryVerb(stores.on(anew(), folder), false))

  it('F8: letters move there and back unchanged', async () => {
    const [there, back] = [stores.on(anew(), folder), stores.on('sqlite:./back.db', folder)]
    expect(await there(LINES.join('\n'), 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    const exported = await there('', 'dlq', 'export')
    expect(sortedLines(exported.out)).toEqual([...LINES].sort())
    expect(await back(exported.out, 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    expect((await back('', 'dlq', 'export')).out).toBe(exported.out)
  })

  it('K9: what the config says of undecided letters is how long they live there', async () => {
    const store = anew()
    await writeFile(join(folder, 'lazaret.yaml'), `store: ${store}\nexpireUndecidedAfter: 200ms`)
    const { lazaretWith: typed } = cliWorld(folder)
    await typed({ input: LINES[0]! }, 'dlq', 'import')
    await expect
      .poll(async () => (await typed({}, 'dlq', 'list')).err, { timeout: 60_000 })
      .toBe('no dead letters\n')
    await rm(join(folder, 'lazaret.yaml'))
  })
})

describe.skipIf(!found.found || !found.isPrivate)(`lazaret doctor on Redis${why}`, () => {
  const verdict = async () => {
    const { code, json } = await lazaretWith({}, 'doctor', '--json', '--store', anew())
    const checks = json[0].checks as { name: string; status: string; found: string; remedy?: string }[]
    const of = (name: string) => checks.find(check => check.name === name)
    return { code, of }
  }

  it('E11: says what becomes of letters when memory or power runs out, each with its remedy', async () => {
    const well = await verdict()
    expect(well.code).toBe(0)
    expect(well.of('redis')).toMatchObject({ status: 'ok', found: expect.stringMatching(/^version \d+\.\d/) })
    expect(well.of('eviction')?.status).toBe('ok')
    expect(well.of('durability')).toMatchObject({ status: 'ok', found: expect.stringContaining('always') })

    await config('maxmemory-policy', 'allkeys-lru')
    await config('appendfsync', 'everysec')
    await config('maxmemory', '1gb')
    const risky = await verdict()
    expect(risky.code).toBe(1)
    expect(risky.of('eviction')).toMatchObject({
      status: 'fail',
      found: 'allkeys-lru: Redis deletes letters when its memory is full',
      remedy: expect.stringContaining('noeviction'),
    })
    expect(risky.of('durability')).toMatchObject({
      status: 'warn',
      found: 'appendfsync everysec: a power cut or a killed server loses the last seconds',
    })
    expect(risky.of('memory')).toMatchObject({
      status: 'ok',
      found: expect.stringMatching(/ of .* used, 0 %/),
    })

    await config('maxmemory-policy', 'noeviction')
    await config('appendonly', 'no')
    const forgetful = await verdict()
    expect(forgetful.of('durability')).toMatchObject({
      status: 'fail',
      remedy: 'CONFIG SET appendonly yes, and the same in redis.conf',
    })
    await config('save', '3600 1')
    expect((await verdict()).of('durability')?.status).toBe('warn')
  })

  it('F8: a server that is away is told in one line, without the password', async () => {
    const { code, err } = await lazaretWith({}, 'dlq', 'list', '--store', 'redis://u:secret@127.0.0.1:1')
    expect({ code, lines: err.split('\n').length }).toEqual({ code: 1, lines: 2 })
    expect(err).toContain('redis: reading the status of the server: no connection to redis://127.0.0.1:1')
    expect(err).not.toContain('secret')
  })
})
