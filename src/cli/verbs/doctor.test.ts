import { chmod, mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../test/services/free-ports.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { filesBelow } from '../../../test/support/folder.ts'
import { fileJournal, fileSpill } from '../../adapters/file/index.ts'
import { DEFAULT_CONFIG } from '../../config/config.ts'
import { encodeLetter } from '../../core/dead-letter/json.ts'
import { systemClock } from '../../ports/clock.ts'
import { createSealing } from '../../runtime/sealing/sealing.ts'
import { createFactory } from '../../testing/factories.ts'
import { checkNode } from '../doctor/machine.ts'
import { openStore } from '../open-store.ts'

const OPEN = { config: DEFAULT_CONFIG, creates: 'if-missing', clock: systemClock } as const

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-doctor-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('doctor', () => {
  it('F8: says of each what it found', async () => {
    const { lazaret, bury, factory } = cliWorld(folder)
    await bury(factory.letter())
    const { code, out } = await lazaret('doctor')
    expect(code).toBe(0)
    expect(out.replace(process.version, 'vX')).toBe(`ok    node       vX
ok    config     no config file; the defaults apply
ok    store      memory: opens
ok    letters    1 letter, 1 of them waiting
ok    retention  no letter is past its retention
ok    clock      2026-01-01T00:00:00.000Z
`)
  })

  it('F8: a failed check has its remedy, the other checks still run, exit code 1', async () => {
    await writeFile(join(folder, 'lazaret.yaml'), 'retention: soon\ncleanup: { cron: never }')
    const { lazaretWith } = cliWorld(folder)
    const { code, json } = await lazaretWith({}, 'doctor', '--json')
    expect(code).toBe(1)
    expect(json).toHaveLength(1)
    expect(json[0].ok).toBe(false)
    const byName = Object.fromEntries(json[0].checks.map((check: { name: string }) => [check.name, check]))
    expect(byName['config']).toMatchObject({ status: 'fail', remedy: 'fix the faults listed here' })
    expect(byName['config'].found).toMatch(/lazaret\.yaml:1: retention.*\n.*lazaret\.yaml:2: cleanup\.cron/)
    expect(byName['store']).toMatchObject({ status: 'skip', found: 'the config is invalid' })
    expect(byName['clock'].status).toBe('ok')
    expect((await lazaretWith({}, 'doctor')).out).toContain('skip  store   the config is invalid\n')
    const { out } = await lazaretWith({}, 'doctor', '--store', 'sqlite:./gone.db')
    expect(out).toContain(`FAIL  store   no store at ${join(folder, 'gone.db')}`)
    expect(out).toContain('→ pass another one with --store')
    expect(out).toMatch(/ disk +[\d.]+ \w+ \(\d+ %\) free\n/)
  })

  it('F8: counts letters that another program changed, which no list has', async () => {
    const path = join(folder, 'shop.db')
    const factory = createFactory()
    const store = await openStore(`sqlite:${path}`, { ...OPEN, folder })
    for (let left = 3; left > 0; left--) await store.deadLetters.send(factory.letter())
    await store.close()
    const database = new DatabaseSync(path)
    database.exec("update letters set body = '{broken' where seq > (select min(seq) from letters)")
    database.close()
    const { lazaretWith } = cliWorld(folder)
    const run = (...words: string[]) => lazaretWith({ openStore }, ...words, '--store', `sqlite:${path}`)
    const { out } = await run('doctor')
    expect(out).toContain(
      '3 letters, 3 of them waiting; 2 cannot be read, and are in no list, export or replay',
    )
    expect(await run('dlq', 'export', '--out', 'letters.jsonl')).toMatchObject({
      code: 3,
      out: 'exported 1 dead letter to letters.jsonl\n',
      err: expect.stringContaining('2 letters are not in the export'),
    })
  })

  it('F8: names a missing file once, with the remedy for a missing file', async () => {
    const { lazaretWith } = cliWorld(folder)
    const run = async (...words: string[]) => (await lazaretWith({ openStore }, 'doctor', ...words)).out
    const store = await run('--store', 'sqlite:./gone/x.db')
    expect(store.match(/gone\/x\.db \(/g)).toHaveLength(1)
    expect(store).toContain('→ pass another one with --store, or start the service that creates it')
    expect(store).not.toMatch(/ENOENT|owner or mode/)
    const config = await run('--config', 'gone.yaml')
    expect(config).toContain('FAIL  config  gone.yaml: config file not found\n')
    expect(config).toContain('→ give an existing path with --config, or omit it\n')
    expect(config).not.toContain('fix the faults')
  })

  it('F8: checks every store of server.stores, by name', async () => {
    await writeFile(
      join(folder, 'lazaret.yaml'),
      'server:\n  stores: { shop: "sqlite:./shop.db", mail: "sqlite:./gone.db" }\n',
    )
    await (await openStore('sqlite:./shop.db', { ...OPEN, folder })).close()
    const { lazaretWith, clock } = cliWorld(folder)
    clock.jump(systemClock.now() - clock.now())
    const { code, out } = await lazaretWith({ openStore, env: {} }, 'doctor')
    expect(code).toBe(1)
    expect(out).toMatch(/ok +store shop +sqlite:\.\/shop\.db opens/)
    expect(out).toMatch(/ok +letters shop +0 letters/)
    expect(out).toMatch(/ok +access shop /)
    expect(out).toMatch(/FAIL +store mail +no store at .*gone\.db/)
    expect(out).toContain('or correct server.stores.mail in the config')
    expect(out).not.toContain('lazaret.db')
  })

  it('F8: checks the broker of every collector; a store that the server creates may be missing', async () => {
    const [port] = await freePorts(1)
    await writeFile(
      join(folder, 'lazaret.yaml'),
      `store: sqlite:./new.db
collectors:
  rabbit: { url: 'amqp://guest:secret@127.0.0.1:${port}', queues: [orders.dlq], store: other }`,
    )
    const io = { openStore, env: {}, clock: systemClock }
    const { code, out } = await cliWorld(folder).lazaretWith(io, 'doctor')
    expect(code).toBe(1)
    expect(out).toMatch(/ok +store +.*new\.db does not exist yet; lazaret serve creates it/)
    expect(out).toMatch(
      /FAIL +collector +collectors\.rabbit\.store: unknown store other\n +→ use one of main/,
    )
    expect(out).toMatch(/FAIL +collector +rabbit: /)
    expect(out).not.toContain('secret')
  })

  it('F8: a clock that is behind the store or far off is wrong', async () => {
    const path = join(folder, 'x.db')
    await writeFile(path, '')
    const { lazaretWith, clock, store } = cliWorld(folder)
    const openStore = async () => ({ ...store, close: async () => {} })
    await utimes(path, 1, clock.now() / 1_000 + 3_600)
    const behind = await lazaretWith({ openStore }, 'doctor', '--store', 'sqlite:./x.db')
    expect(behind.code).toBe(1)
    expect(behind.out).toContain('but the store was written in 1h')
    clock.jump(-60 * 365 * 86_400_000)
    expect((await lazaretWith({ openStore }, 'doctor', '--store', 'memory:')).out).toMatch(
      /FAIL {2}clock .*which cannot be/,
    )
  })

  it('F8: letters from the future, and letters past their time, are worth a look', async () => {
    const { lazaret, bury, factory, clock } = cliWorld(folder)
    await bury(factory.letter({ expiresAt: clock.now() + 10 }))
    await clock.advance(86_400_000)
    await bury(factory.letter())
    clock.jump(-3_600_000)
    const { code, out } = await lazaret('doctor')
    expect(code).toBe(0)
    expect(out).toContain('warn  retention  1 letter past the retention')
    expect(out).toContain('→ lazaret dlq purge --expired')
    expect(out).toContain('warn  clock')
  })

  it('F8: a store that opens and cannot be read fails', async () => {
    const { lazaret, store } = cliWorld(folder)
    store.deadLetters.stats = async () => {
      throw new Error('the disk image is malformed; restore it from a backup')
    }
    const { code, out } = await lazaret('doctor')
    expect(code).toBe(1)
    expect(out).toContain('FAIL  letters    the disk image is malformed\n')
    expect(out).toContain('→ restore it from a backup')
  })

  it.each([
    ['v22.13.0', 'ok'],
    ['v24.0.0', 'ok'],
    ['v22.12.9', 'fail'],
    ['v20.19.0', 'fail'],
  ])('F8: Node %s is %s', (version, status) => {
    expect(checkNode(version).status).toBe(status)
  })
})

describe('doctor on a folder of letters', () => {
  /** Some letters in a file store, and the day's file of it. */
  async function withLetters() {
    const { lazaretWith, factory, clock } = cliWorld(folder)
    // The file system goes by the real time.
    clock.jump(systemClock.now() - clock.now())
    const input = Array.from({ length: 5 }, () => `${encodeLetter(factory.letter())}\n`).join('')
    const lazaret = (...argv: string[]) =>
      lazaretWith({ env: { LAZARET_STORE: 'file:./letters' }, input }, ...argv)
    await lazaret('dlq', 'import')
    const letters = join(folder, 'letters')
    const day = join(letters, (await readdir(letters)).find(name => /^\d{4}-\d\d-\d\d$/.test(name))!)
    return { lazaret, file: join(day, (await readdir(day))[0]!) }
  }

  it('E10: damage is counted, and the rest is read', async () => {
    const { lazaret, file } = await withLetters()
    expect((await lazaret('doctor')).out).toMatch(/ok {4}damage {5}no damage in 1 file of [\d.]+ KiB/)
    const bytes = await readFile(file)
    bytes[bytes.indexOf('\n') + 200]! ^= 1
    await writeFile(file, bytes)
    const { code, out } = await lazaret('doctor')
    expect(code).toBe(0)
    expect(out).toContain(`warn  damage     1 damaged line: 1 in ${file}`)
    expect(out).toContain('all other lines are readable')
    expect((await lazaret('dlq', 'list', '--json')).json).toHaveLength(4)
  })

  it('E10: damaged lines of the spill and the journal are counted, with the file and the remedy', async () => {
    const { lazaret, file: letters } = await withLetters()
    await writeFile(join(folder, 'lazaret.yaml'), 'spill: file:./spill\njournal: file:./journal')
    const make = createFactory()
    const spill = fileSpill({ dir: join(folder, 'spill') })
    for (let sent = 0; sent < 3; sent++) await spill.send(make.letter())
    await spill.close()
    expect((await lazaret('doctor')).out).toContain('ok    journal    file:./journal does not exist yet')
    const journal = fileJournal({ dir: join(folder, 'journal') })
    for (const event of make.events(3)) await journal.append({ event })
    await journal.close()
    expect((await lazaret('doctor')).out).toContain('ok    journal    3 events in file:./journal')
    const [spilled] = await filesBelow(join(folder, 'spill'), '.jsonl')
    const [journaled] = await filesBelow(join(folder, 'journal'), '.jsonl')
    for (const path of [spilled!, letters]) {
      const text = await readFile(path, 'utf8')
      await writeFile(path, text.replaceAll('"crc":"', '"crc":"0'))
    }
    const aside = spilled!.replace('000001.jsonl', '000007.damaged')
    await writeFile(aside, '{"crc":"')
    await truncate(journaled!, (await readFile(journaled!)).length - 40)
    const { code, json } = await lazaret('doctor', '--json')
    const found = (name: string) => json[0].checks.find((check: { name: string }) => check.name === name)
    expect(code).toBe(0)
    expect(found('spill')).toBeUndefined()
    expect(found('spill damage')).toMatchObject({
      status: 'warn',
      found: `3 damaged lines: 3 in ${spilled}`,
      remedy: expect.stringContaining('restore the lines from a backup'),
    })
    expect(json[0].checks).toContainEqual(
      expect.objectContaining({ status: 'warn', found: `1 torn line kept apart: ${aside}` }),
    )
    expect(found('journal')).toMatchObject({ status: 'ok', found: '2 events in file:./journal' })
    expect(found('journal damage')).toMatchObject({
      status: 'warn',
      found: `1 damaged line: 1 in ${journaled}`,
    })
    expect(found('damage')).toMatchObject({
      status: 'warn',
      found: expect.stringContaining(`5 in ${letters}`),
    })
  })

  it('E10: sealed lines are checked without their key', async () => {
    const { lazaret } = await withLetters()
    const codec = createSealing({ current: 'k', keys: { k: Buffer.alloc(32, 7) } })
    const spill = fileSpill({ dir: join(folder, 'spill'), codec })
    await spill.send(createFactory().letter())
    await spill.close()
    const journal = fileJournal({ dir: join(folder, 'journal'), codec })
    await journal.append({ event: createFactory().event() })
    await journal.close()
    await writeFile(join(folder, 'lazaret.yaml'), 'spill: file:./spill\njournal: file:./journal')
    const { out } = await lazaret('doctor')
    expect(out).toContain('warn  spill      1 letter in file:./spill')
    expect(out).toContain('ok    journal    1 event in file:./journal')
    expect(out).not.toMatch(/(spill|journal) damage/)
  })

  it('B7: letters in the spill are told', async () => {
    const { lazaret } = await withLetters()
    await writeFile(join(folder, 'lazaret.yaml'), 'spill: file:./spill')
    expect((await lazaret('doctor')).out).toContain('ok    spill      file:./spill does not exist yet')
    const spill = fileSpill({ dir: join(folder, 'spill') })
    await spill.send(createFactory().letter())
    await spill.close()
    expect((await lazaret('doctor')).out).toContain('warn  spill      1 letter in file:./spill')
  })

  it.skipIf(process.platform === 'win32')(
    'P2: warns of files that others may read, with the command that fixes it',
    async () => {
      const { lazaretWith } = cliWorld(folder)
      const found = async (...words: string[]) => {
        const { json } = await lazaretWith({ openStore }, 'doctor', '--json', ...words)
        return json[0].checks.find((check: { name: string }) => check.name === 'modes')
      }
      const [path, dir] = [join(folder, 'my store.db'), join(folder, 'letters')]
      await (await openStore(`sqlite:${path}`, { ...OPEN, folder })).close()
      const made = await openStore(`file:${dir}`, { ...OPEN, folder })
      await made.deadLetters.send(createFactory().letter())
      await made.close()
      expect(await found('--store', `sqlite:${path}`)).toMatchObject({ status: 'ok' })
      expect(await found('--store', `file:${dir}`)).toMatchObject({ status: 'ok' })
      await chmod(path, 0o644)
      await chmod(dir, 0o755)
      expect(await found('--store', `sqlite:${path}`)).toMatchObject({
        status: 'warn',
        found: `other users of this machine can read ${path}`,
        remedy: `chmod 600 '${path}'`,
      })
      expect(await found('--store', `file:${dir}`)).toMatchObject({
        status: 'warn',
        remedy: `chmod -R go-rwx ${dir}`,
      })
    },
  )
})
