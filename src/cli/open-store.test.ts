import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cliWorld } from '../../test/support/cli.ts'
import { readStoreUrl } from './open-store.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-open-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('a store URL', () => {
  it.each([
    ['memory:', { kind: 'memory' }],
    ['file:./var/letters', { kind: 'file', path: '/home/ann/var/letters' }],
    ['file:letters', { kind: 'file', path: '/home/ann/letters' }],
    ['sqlite:./lazaret.db', { kind: 'sqlite', path: '/home/ann/lazaret.db' }],
    ['sqlite:/var/lib/x.db', { kind: 'sqlite', path: '/var/lib/x.db' }],
    ['sqlite:///var/lib/a%20b.db', { kind: 'sqlite', path: '/var/lib/a b.db' }],
    ['postgresql://db/shop', { kind: 'postgres', url: 'postgresql://db/shop' }],
    ['redis://cache:6380/1', { kind: 'redis', url: 'redis://cache:6380/1' }],
    ['rediss://cache', { kind: 'redis', url: 'rediss://cache' }],
  ])('F8: %s', (url, expected) => {
    expect(readStoreUrl(url, '/home/ann')).toMatchObject(expected)
  })

  it.each([
    [
      'postgres:ann:hunter2@db/x',
      'the store postgres:ann:hunter2@db/x has no host; use postgres://HOST/DATABASE',
    ],
    ['redis:localhost', 'the store redis:localhost has no host; use redis://HOST'],
    ['sqllite:./x.db', "the store sqllite:./x.db has an unknown type; did you mean 'sqlite:./x.db'?"],
    [
      'mongodb://x',
      'the store mongodb://x has an unknown type; use memory:, file:DIR, sqlite:FILE, postgres://HOST/DATABASE or redis://HOST',
    ],
    ['./lazaret.db', 'the store "./lazaret.db" is not a URL; try sqlite:./lazaret.db'],
    ['var/letters', 'the store "var/letters" is not a URL; try file:var/letters'],
    [
      'sqlite:',
      'the store sqlite: has no path; use memory:, file:DIR, sqlite:FILE, postgres://HOST/DATABASE or redis://HOST',
    ],
  ])('F8: %s is answered in one line, exit code 2', async (url, expected) => {
    const { lazaretWith } = cliWorld(folder)
    expect(await lazaretWith({}, 'dlq', 'list', '--store', url)).toMatchObject({
      code: 2,
      out: '',
      err: `lazaret: ${expected}\n`,
    })
  })
})

describe('a store that is not there', () => {
  it.each(['sqlite:./mistyped.db', 'file:./mistyped'])('F8: is not made by looking at it: %s', async url => {
    const { lazaretWith } = cliWorld(folder)
    const { code, err } = await lazaretWith({}, 'dlq', 'list', '--store', url)
    expect({ code, lines: err.split('\n').length }).toEqual({ code: 1, lines: 2 })
    expect(err).toContain(
      `no store at ${join(folder, url.split('./')[1]!)} (${url}); pass another one with --store`,
    )
    expect(await readdir(folder)).toEqual([])
  })

  it('F8: an empty file and a foreign folder are not stores, and stay as they are', async () => {
    await mkdir(join(folder, 'src'))
    await writeFile(join(folder, 'empty.db'), '')
    const { lazaretWith } = cliWorld(folder)
    for (const url of ['sqlite:./empty.db', 'file:./src']) {
      const { code, err } = await lazaretWith({}, 'dlq', 'list', '--store', url)
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('contains no store') })
    }
    expect(await readdir(folder, { recursive: true })).toEqual(['empty.db', 'src'])
    expect((await stat(join(folder, 'empty.db'))).size).toBe(0)
  })

  it('F8: is sqlite:./lazaret.db unless said otherwise', async () => {
    const { err } = await cliWorld(folder).lazaretWith({}, 'dlq', 'list')
    expect(err).toContain(`no store at ${join(folder, 'lazaret.db')}`)
  })

  it('F8: a file in place of a folder is refused, and so is a folder in place of a file', async () => {
    await mkdir(join(folder, 'dir'))
    await writeFile(join(folder, 'x.db'), '')
    const { lazaretWith } = cliWorld(folder)
    expect((await lazaretWith({}, 'dlq', 'list', '--store', 'sqlite:./dir')).err).toContain(
      'is a folder, not a file; try file:./dir',
    )
    expect((await lazaretWith({}, 'dlq', 'list', '--store', 'file:./x.db')).err).toContain(
      'is a file, not a folder; try sqlite:./x.db',
    )
  })
})

describe('which store', () => {
  it('F7: the flag comes before the environment, and the environment before the config, whose paths start at its folder', async () => {
    await mkdir(join(folder, 'etc'))
    await writeFile(join(folder, 'etc/lazaret.yaml'), 'store: sqlite:./of-config.db')
    const { lazaretWith } = cliWorld(folder)
    const config = ['--config', 'etc/lazaret.yaml']
    const env = { LAZARET_STORE: 'sqlite:./of-env.db' }
    expect((await lazaretWith({}, 'dlq', 'list', ...config)).err).toContain(join(folder, 'etc/of-config.db'))
    expect((await lazaretWith({ env }, 'dlq', 'list', ...config)).err).toContain(join(folder, 'of-env.db'))
    const typed = await lazaretWith({ env }, 'dlq', 'list', ...config, '--store', 'sqlite:./typed.db')
    expect(typed.err).toContain(join(folder, 'typed.db'))
  })

  it('F7: a config that cannot be used is told with all its faults, exit code 2', async () => {
    await writeFile(join(folder, 'lazaret.yaml'), 'stor: x\nretention: soon')
    const { lazaretWith } = cliWorld(folder)
    const { code, err } = await lazaretWith({}, 'dlq', 'list')
    expect(code).toBe(2)
    expect(err).toMatch(/^lazaret: lazaret\.yaml:1: stor: .*\nlazaret\.yaml:2: retention: .*\n$/)
    expect((await lazaretWith({}, 'dlq', 'list', '--config', 'no.yaml')).err).toBe(
      'lazaret: no.yaml: config file not found; give an existing path with --config, or omit it\n',
    )
  })

  it('F7: masks of the config hide what is shown', async () => {
    await writeFile(
      join(folder, 'lazaret.yaml'),
      "masks: { paths: [payload.amount], patterns: ['ECONN\\w+'] }",
    )
    const { lazaret, bury, factory } = cliWorld(folder)
    await bury(factory.letter())
    const { json } = await lazaret('dlq', 'list', '--json')
    expect(json[0]).toMatchObject({
      event: { payload: { amount: '***' } },
      cycle: { failure: { message: 'connect *** 127.0.0.1:5432' } },
    })
  })
})
