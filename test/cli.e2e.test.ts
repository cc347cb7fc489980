import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeLetter } from '../src/core/dead-letter/json.ts'
import { createFactory } from '../src/testing/factories.ts'
import { FakeClock } from '../src/testing/fake-clock.ts'
import { LAZARET, runScript, startScript } from './support/lazaret-process.ts'

const LETTERS = 3_000
let folder: string

/** A folder with a store of each kind, full of letters. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-cli-'))
  const clock = new FakeClock()
  const factory = createFactory({ clock })
  const lines = Array.from({ length: LETTERS }, () => {
    clock.jump(1)
    const event = factory.event({ payload: 'x'.repeat(500) })
    // As a consumer of the SQLite store writes them: a letter of no broker could not go back to one.
    return `${encodeLetter(factory.letter({ event, origin: { broker: 'sqlite' } }))}\n`
  })
  await writeFile(join(folder, 'letters.jsonl'), lines.join(''))
  const imports = ['sqlite:./lazaret.db', 'file:./letters'].map(
    url => `lazaret dlq import letters.jsonl --store ${url}`,
  )
  const { code, out, err } = await runScript(imports.join(' && '), folder)
  expect({ code, out, err }).toEqual({ code: 0, out: 'imported 3 000 dead letters\n'.repeat(2), err: '' })
})
afterAll(() => rm(folder, { recursive: true }))

const run = (script: string, env?: NodeJS.ProcessEnv) => runScript(script, folder, env)

// Every command is a process of its own, and machines are busy.
describe('lazaret as a process', () => {
  it('F8: --version, --help and typos answer at once', async () => {
    expect(await run('lazaret --version')).toEqual({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      err: '',
    })
    expect(await run('lazaret --help')).toMatchObject({ code: 0, err: '' })
    expect(await run('lazaret dql')).toEqual({
      code: 2,
      out: '',
      err: "lazaret: unknown command 'dql'; did you mean 'dlq'?\n",
    })
    expect(await run('lazaret dlq list --store sqlite:./none.db')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^lazaret: no store at .*\n$/),
    })
  })

  it.each(['sqlite:./lazaret.db', 'file:./letters'])(
    'F8: %s: every line of a long listing is JSON, and nothing else is there',
    async url => {
      const { code, out, err } = await run(`lazaret dlq list --limit all --json --store ${url} | cat`)
      expect({ code, err }).toEqual({ code: 0, err: '' })
      const lines = out.trimEnd().split('\n')
      expect(lines).toHaveLength(LETTERS)
      expect(new Set(lines.map(line => JSON.parse(line).id)).size).toBe(LETTERS)
    },
  )

  it.each(['dlq list --limit all --json', 'dlq list --limit all', 'dlq export', 'dlq list --help'])(
    'F8: %s exits without an error when head closes the pipe',
    async verb => {
      const { out, err } = await run(`lazaret ${verb} | head -1; echo "exit \${PIPESTATUS[0]}"`)
      expect(out.split('\n').at(-2)).toBe('exit 0')
      expect(err).toBe('')
    },
  )

  it('F8: a slow reader gets everything', async () => {
    const { out } = await run('lazaret dlq export | (sleep 0.5; wc -l)')
    expect(out.trim()).toBe(String(LETTERS))
  })

  it.each([
    ['a device that is full', 'lazaret --version > /dev/full'],
    // A limit of 1 kB stands for a full disk: it takes the beginning of the text, without an error.
    ['a disk that takes a part of it', "trap '' XFSZ; ulimit -f 1; lazaret config schema > schema.json"],
  ])('F8: output that does not reach %s is a failure', async (_, script) => {
    expect(await run(script)).toEqual({ code: 1, out: '', err: expect.stringMatching(/^lazaret: E[A-Z]+: /) })
  })

  it('F8: letters go through a pipe from one store to the next unchanged', async () => {
    const { code, out, err } = await run(
      `set -o pipefail
      lazaret dlq export --store sqlite:./lazaret.db | lazaret dlq import --store file:./copy
      lazaret dlq export --store file:./copy | lazaret dlq import --store sqlite:./copy.db
      lazaret dlq export --store sqlite:./copy.db | sort | cmp - <(sort letters.jsonl) && echo same`,
    )
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.split('\n').at(-2)).toBe('same')
  })

  it('F8: an export to a descriptor adds to the file that the shell has opened, and its messages go elsewhere', async () => {
    const { code, out, err } = await run(
      `{ echo header; lazaret dlq export --out /dev/stdout; echo footer; } > group.jsonl
      echo header > added.jsonl
      lazaret dlq export --out /dev/fd/3 3>> added.jsonl
      echo footer >> added.jsonl
      lazaret dlq export --out /dev/stdout | sed '1i header' | sed '$a footer' > piped.jsonl
      (echo header; cat letters.jsonl; echo footer) | sort > expected
      for file in group added piped; do sort $file.jsonl | cmp - expected && sed -n '1p;$p' $file.jsonl; done`,
    )
    expect({ code, out }).toEqual({ code: 0, out: 'header\nfooter\n'.repeat(3) })
    const to = (name: string) => `exported 3 000 dead letters to ${name}\n`
    expect(err).toBe(to('/dev/stdout') + to('/dev/fd/3') + to('/dev/stdout'))
  })

  it('F8: LAZARET_STORE names the store', async () => {
    const { out } = await run('lazaret dlq stats --json', { LAZARET_STORE: 'file:./letters' })
    expect(JSON.parse(out)).toMatchObject({ count: LETTERS })
  })

  it('B11: Ctrl-C pauses a replay, records what was sent, and prints the command that resumes it', async () => {
    const plan = 'lazaret replay plan --reason test --max-age 9999d --stages rest --per-second 20 --json'
    const { id } = JSON.parse((await run(`${plan} --store sqlite:./lazaret.db`)).out)
    /** Runs the command until it says that letters were sent and have no outcome, then presses Ctrl-C. */
    const interrupt = async (command: string) => {
      // In the place of the shell, which would answer the signal too.
      const started = startScript(command.replace(/^lazaret/, `exec ${LAZARET}`), folder)
      await started.says('no outcome within 5 s')
      started.signal('SIGINT')
      const { code, out, err } = await started.ended
      return { code, replay: JSON.parse(out), resume: /resume with: (.*)\n$/.exec(err)?.[1] }
    }
    const flags = '--store sqlite:./lazaret.db --yes'
    const first = await interrupt(`lazaret replay start ${id} ${flags} --json`)
    expect(first).toMatchObject({ code: 3, replay: { id, state: 'paused', stateReason: 'interrupted' } })
    expect(first.resume).toBe(`lazaret replay resume ${id} ${flags}`)
    const { sent, waiting } = first.replay.outcomes
    expect(sent).toBeGreaterThan(0)
    expect(sent + waiting).toBe(LETTERS)
    const stats = JSON.parse((await run('lazaret dlq stats --json')).out)
    // The signal may find a letter that is claimed and not sent. It stays claimed, and the next run sends it.
    expect(stats.byState).toEqual({ replaying: expect.any(Number), dead: expect.any(Number) })
    expect([sent, sent + 1]).toContain(stats.byState.replaying)
    const second = await interrupt(`${first.resume} --json`)
    expect(second).toMatchObject({ code: 3, replay: { id, state: 'paused' }, resume: first.resume })
    expect(second.replay.outcomes.sent).toBeGreaterThan(sent)
  })

  it('F8: doctor finds both stores well', async () => {
    for (const url of ['sqlite:./lazaret.db', 'file:./letters']) {
      const { out } = await run(`lazaret doctor --json --store ${url}`)
      expect(JSON.parse(out).checks.filter((check: { status: string }) => check.status === 'fail')).toEqual(
        [],
      )
    }
  })
})
