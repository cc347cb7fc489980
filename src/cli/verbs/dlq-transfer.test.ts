import { execFileSync } from 'node:child_process'
import {
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { encodeLetter } from '../../core/dead-letter/json.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-transfer-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Letters of every sort: bytes, history, odd text, every state. */
async function varied() {
  const world = cliWorld(folder)
  const { factory, store, clock } = world
  const again = factory.event({ payload: ['"quoted"', '\u2028', { deep: [null, 1e21] }] })
  await world.bury(
    factory.letter({ event: factory.event({ payload: new Uint8Array([0, 10, 255]) }) }),
    factory.letter({
      event: again,
      expiresAt: clock.now() + 5,
      detail: { limit: 3 },
      metadata: { tenant: 'acme' },
      job: 'Mail',
    }),
    factory.letter({
      event: again,
      replay: 1,
      replayId: 'r1',
      replayedBy: 'bob',
      error: new TypeError('x\ny'),
    }),
    factory.letter({ reason: 'poison', origin: { queue: 'q', offset: '9007199254740993' } }),
  )
  const parked = factory.letter()
  await world.bury(parked)
  await store.deadLetters.change(parked.id, { to: 'parked', at: clock.now() })
  return world
}

describe('dlq export', () => {
  it('F8: is a JSON line per letter in the stored form, and audited', async () => {
    const { lazaret, store, audited } = await varied()
    const { letters } = await store.deadLetters.list()
    const { code, out, err } = await lazaret('dlq', 'export')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line))).toEqual(
      letters.map(letter => JSON.parse(encodeLetter(letter))),
    )
    expect(await audited()).toEqual([['letters.export', 'all letters', 'ann']])
  })

  it('F8: takes filters, and writes to a file that only its owner may read', async () => {
    const { lazaret } = await varied()
    const { code, out } = await lazaret('dlq', 'export', '--state', 'parked', '--out', 'parked.jsonl')
    expect({ code, out }).toEqual({ code: 0, out: 'exported 1 dead letter to parked.jsonl\n' })
    const path = join(folder, 'parked.jsonl')
    expect((await readFile(path, 'utf8')).split('\n')).toHaveLength(2)
    expect((await stat(path)).mode & 0o077).toBe(0)
    expect(await readdir(folder)).toEqual(['parked.jsonl'])
    const { json } = await lazaret('dlq', 'export', '--json', '--out', 'all.jsonl')
    expect(json).toEqual([{ exported: 4, file: 'all.jsonl' }])
  })

  it('F8: escapes what a terminal would obey, and an import restores it', async () => {
    const { lazaret, factory, bury } = cliWorld(folder)
    const payload = '\u009b2J \u202eevil \u007f\u2066 \ud83d\ude00'
    const [letter] = await bury(factory.letter({ event: factory.event({ payload }) }))
    const { out } = await lazaret('dlq', 'export')
    expect(out).toContain(String.raw`"\u009b2J \u202eevil \u007f\u2066 ${'\u{1f600}'}"`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/)
    await writeFile(join(folder, 'letters.jsonl'), out)
    const target = cliWorld(folder)
    expect(await target.lazaret('dlq', 'import', 'letters.jsonl')).toMatchObject({ code: 0 })
    expect((await target.store.deadLetters.get(letter!.id))?.event.payload).toBe(payload)
  })

  it('F8: an export to a named pipe goes through the pipe, and leaves it in its place', async () => {
    const { lazaret } = await varied()
    const path = join(folder, 'pipe')
    execFileSync('mkfifo', [path])
    const reading = readFile(path, 'utf8')
    const { code, out } = await lazaret('dlq', 'export', '--out', 'pipe')
    expect({ code, out }).toEqual({ code: 0, out: 'exported 4 dead letters to pipe\n' })
    expect((await stat(path)).isFIFO()).toBe(true)
    expect((await reading).trimEnd().split('\n')).toHaveLength(4)
  })

  it('F8: an export to a symbolic link replaces the file behind it, and not the link', async () => {
    const { lazaret } = await varied()
    await mkdir(join(folder, 'disk'))
    await writeFile(join(folder, 'disk/letters.jsonl'), 'old')
    await symlink('disk/letters.jsonl', join(folder, 'link'))
    expect(await lazaret('dlq', 'export', '--out', 'link')).toMatchObject({ code: 0 })
    expect((await lstat(join(folder, 'link'))).isSymbolicLink()).toBe(true)
    expect((await readFile(join(folder, 'disk/letters.jsonl'), 'utf8')).split('\n')).toHaveLength(5)
  })

  it('F8: an export to a link without a file behind it creates that file', async () => {
    const { lazaret } = await varied()
    await symlink('letters.jsonl', join(folder, 'link'))
    await symlink('circle', join(folder, 'circle'))
    expect(await lazaret('dlq', 'export', '--out', 'link')).toMatchObject({ code: 0 })
    expect((await readFile(join(folder, 'letters.jsonl'), 'utf8')).split('\n')).toHaveLength(5)
    const { code, err } = await lazaret('dlq', 'export', '--out', 'circle')
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('cannot write circle (ELOOP)') })
    for (const name of ['link', 'circle'])
      expect((await lstat(join(folder, name))).isSymbolicLink()).toBe(true)
    expect((await readdir(folder)).sort()).toEqual(['circle', 'letters.jsonl', 'link'])
  })

  it.runIf(process.platform !== 'win32')(
    'F8: an export to a descriptor adds to what the shell has opened',
    async () => {
      const { lazaret } = await varied()
      // As a shell opens the file of `{ echo header; lazaret …; echo footer; } 3> all.jsonl`.
      const shell = await open(join(folder, 'all.jsonl'), 'w')
      await shell.write('header\n')
      const named = `/dev/fd/${shell.fd}`
      expect(await lazaret('dlq', 'export', '--out', named)).toMatchObject({
        code: 0,
        out: '',
        err: `exported 4 dead letters to ${named}\n`,
      })
      await shell.write('footer\n')
      await shell.close()
      const lines = (await readFile(join(folder, 'all.jsonl'), 'utf8')).trimEnd().split('\n')
      expect([lines.length, lines[0], lines.at(-1)]).toEqual([6, 'header', 'footer'])
      expect(await readdir(folder)).toEqual(['all.jsonl'])
      expect((await lazaret('dlq', 'export', '--out', '/dev/fd/99999')).err).toContain(
        'cannot write /dev/fd/99999',
      )
    },
  )

  it.runIf(process.platform !== 'win32')(
    'F8: an export to standard output or error has nothing but the letters in it',
    async () => {
      const { lazaret } = await varied()
      const { out: lines } = await lazaret('dlq', 'export')
      expect(await lazaret('dlq', 'export', '--json', '--out', '/dev/stdout')).toMatchObject({
        code: 0,
        out: lines,
        err: '{"exported":4,"file":"/dev/stdout"}\n',
      })
      await symlink('/dev/stderr', join(folder, 'link'))
      expect(await lazaret('dlq', 'export', '--out', 'link')).toMatchObject({
        code: 0,
        out: 'exported 4 dead letters to link\n',
        err: lines,
      })
    },
  )

  it('F8: two exports to one file at once do not mix, and the last one to end stays', async () => {
    const { lazaret, store } = await varied()
    const { list } = store.deadLetters
    let second: Awaited<ReturnType<typeof lazaret>> | undefined
    store.deadLetters.list = async (...query) => {
      store.deadLetters.list = list
      second = await lazaret('dlq', 'export', '--state', 'parked', '--out', 'letters.jsonl')
      expect((await readFile(join(folder, 'letters.jsonl'), 'utf8')).split('\n')).toHaveLength(2)
      return await list.apply(store.deadLetters, query)
    }
    expect(await lazaret('dlq', 'export', '--out', 'letters.jsonl')).toMatchObject({ code: 0, err: '' })
    expect(second).toMatchObject({ code: 0, err: '' })
    expect((await readFile(join(folder, 'letters.jsonl'), 'utf8')).split('\n')).toHaveLength(5)
    expect(await readdir(folder)).toEqual(['letters.jsonl'])
  })

  it('F8: an export to the name of a folder is one line, and leaves nothing behind', async () => {
    const { lazaret } = await varied()
    await mkdir(join(folder, 'letters'))
    expect(await lazaret('dlq', 'export', '--out', 'letters')).toMatchObject({
      code: 1,
      out: '',
      err: 'lazaret: letters is a folder; give the name of a file\n',
    })
    expect(await readdir(folder)).toEqual(['letters'])
  })

  it('F8: an export that fails leaves no half file, and the old one as it was', async () => {
    const { lazaret, store } = await varied()
    await writeFile(join(folder, 'letters.jsonl'), 'as it was')
    store.deadLetters.list = async () => {
      throw new Error('disk on fire')
    }
    expect(await lazaret('dlq', 'export', '--out', 'letters.jsonl')).toMatchObject({
      code: 1,
      err: 'lazaret: disk on fire\n',
    })
    expect(await readdir(folder)).toEqual(['letters.jsonl'])
    expect(await readFile(join(folder, 'letters.jsonl'), 'utf8')).toBe('as it was')
    const missing = await lazaret('dlq', 'export', '--out', 'no/such/folder.jsonl')
    expect(missing.err).toContain('cannot write no/such/folder.jsonl (ENOENT)')
  })
})

describe('dlq import', () => {
  it('F8: takes letters in unchanged, from a file or a pipe, once however often', async () => {
    const { out } = await (await varied()).lazaret('dlq', 'export')
    await writeFile(join(folder, 'letters.jsonl'), out)
    const target = cliWorld(folder)
    expect(await target.lazaret('dlq', 'import', 'letters.jsonl')).toMatchObject({
      code: 0,
      out: 'imported 4 dead letters\n',
    })
    expect((await target.lazaret('dlq', 'export')).out).toBe(out)
    const env = { LAZARET_STORE: 'memory:' }
    expect(await target.lazaretWith({ env, input: out }, 'dlq', 'import', '--json')).toMatchObject({
      json: [{ imported: 4, refused: 0 }],
    })
    expect((await target.lazaret('dlq', 'export')).out).toBe(out)
    expect((await target.audited()).filter(([action]) => action === 'letters.import')).toEqual([
      ['letters.import', 'stdin', 'ann'],
      ['letters.import', 'letters.jsonl', 'ann'],
    ])
  })

  it('F8: goes on past bad lines and names each: done in part', async () => {
    const { lazaret, lazaretWith, factory } = cliWorld(folder)
    const good = factory.letter()
    const moved = { ...factory.letter(), channel: 'elsewhere' }
    const input = [
      encodeLetter(good),
      '{"half":',
      '',
      '{"v":1}',
      encodeLetter(moved),
      encodeLetter(factory.letter()),
    ].join('\r\n')
    const env = { LAZARET_STORE: 'memory:' }
    const { code, out, err } = await lazaretWith({ env, input }, 'dlq', 'import', '-')
    expect({ code, out }).toEqual({ code: 3, out: 'imported 2 dead letters, refused 3 lines\n' })
    expect(err.split('\n')).toEqual([
      "stdin:2: not JSON; each line must be one letter from 'dlq export'",
      expect.stringMatching(/^stdin:4: letter\./),
      'stdin:5: the ID does not match the channel, handler and event; the line was edited after the export',
      '',
    ])
    expect((await lazaret('dlq', 'list', '--json')).json).toHaveLength(2)
    const nonsense = await lazaretWith({ env, input: 'nonsense\n'.repeat(8) }, 'dlq', 'import')
    expect(nonsense).toMatchObject({ code: 1, out: 'imported 0 dead letters, refused 8 lines\n' })
    expect(nonsense.err.split('\n').slice(4)).toEqual([
      "stdin:5: not JSON; each line must be one letter from 'dlq export'",
      'and 3 more',
      '',
    ])
  })

  it('F8: a store that fails ends it, and says how far it came', async () => {
    const { lazaretWith, factory, store } = cliWorld(folder)
    const { send } = store.deadLetters
    let sends = 0
    store.deadLetters.send = async letter => {
      if (++sends > 150) throw new Error('no room')
      return send.call(store.deadLetters, letter)
    }
    const input = Array.from({ length: 300 }, () => `${encodeLetter(factory.letter())}\n`).join('')
    const { code, out, err } = await lazaretWith(
      { input, env: { LAZARET_STORE: 'memory:' } },
      'dlq',
      'import',
    )
    expect({ code, out, err }).toEqual({
      code: 3,
      out: 'imported 150 dead letters\n',
      err: 'lazaret: the store failed after 150 letters: no room\n',
    })
  })

  it('F8: a folder is one line, and no store is created', async () => {
    const { lazaret } = cliWorld(folder)
    await mkdir(join(folder, 'letters'))
    expect(await lazaret('dlq', 'import', 'letters', '--store', 'sqlite:./new.db')).toMatchObject({
      code: 1,
      out: '',
      err: 'lazaret: letters is a folder; give the path of a file that dlq export wrote\n',
    })
    expect(await readdir(folder)).toEqual(['letters'])
  })

  it('F8: a missing file is one line, and on a terminal a file is asked for', async () => {
    const { lazaret, lazaretWith } = cliWorld(folder)
    expect(await lazaret('dlq', 'import', 'none.jsonl')).toMatchObject({
      code: 1,
      err: 'lazaret: file not found: none.jsonl; give the path of a file that dlq export wrote\n',
    })
    expect(await lazaretWith({ columns: 80 }, 'dlq', 'import')).toMatchObject({ code: 2 })
  })
})
