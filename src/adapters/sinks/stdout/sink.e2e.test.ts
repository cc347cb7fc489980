import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runScript } from '../../../../test/support/lazaret-process.ts'
import { ROOT } from '../../../../test/support/source.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-stdout-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** A process that writes batches of events to its standard output, as `service`, and tells stderr what became of them. */
function run(writes: string, script: string) {
  const program = `
    import { ftruncateSync } from 'node:fs'
    import { stdout } from '${ROOT}/src/adapters/sinks/stdout/sink.ts'
    import { createEvent } from '${ROOT}/src/index.ts'
    const sink = stdout()
    const write = async count => {
      const batch = Array.from({ length: count }, (_, at) =>
        createEvent({ channel: 'orders', type: 'order.placed', id: String(at), payload: 'x'.repeat(1_000) }),
      )
      const { signal } = new AbortController()
      const late = setTimeout(() => process.exit(9), 10_000)
      const error = await sink.write(batch, { signal }).then(() => undefined, failure => failure)
      clearTimeout(late)
      console.error(error?.message ?? 'written')
    }
    ${writes}`
  return runScript(
    `service() { "${process.execPath}" --input-type=module -e "$PROGRAM"; }\n${script}`,
    folder,
    { PROGRAM: program },
  )
}

const TAKEN_BY_FILE = 'standard output: EFBIG: file too large, write; check where it is redirected'
const NO_READER = 'standard output: its reader has ended; check why the reader ended'

describe('stdout sink of a process', () => {
  it('E17: a batch that a full disk takes in part is not written, and the next one begins a line', async () => {
    const { err } = await run(
      'await write(20); ftruncateSync(1, 2_500); await write(1)',
      // The limit of 8 kB stands for a full disk.
      "trap '' XFSZ; ulimit -f 8; service >> log.jsonl",
    )
    expect(err).toBe(`${TAKEN_BY_FILE}\nwritten\n`)
    const lines = (await readFile(join(folder, 'log.jsonl'), 'utf8')).split('\n')
    const ids = lines.map(line => (line.endsWith('}') ? JSON.parse(line).id : line.length > 0))
    expect(ids).toEqual(['0', '1', true, '0', false])
  })

  it('E21: a line that an earlier process left unfinished does not spoil the next one', async () => {
    const { err } = await run(
      'await write(1); await write(1)',
      'printf \'{"v":1\' > torn.jsonl; service >> torn.jsonl',
    )
    expect(err).toBe('written\nwritten\n')
    const [torn, ...lines] = (await readFile(join(folder, 'torn.jsonl'), 'utf8')).trimEnd().split('\n')
    expect([torn, ...lines.map(line => JSON.parse(line).id)]).toEqual(['{"v":1', '0', '0'])
  })

  it('E17: events reach a file in the order of writing', async () => {
    const { err } = await run('await Promise.all([write(2), write(1)])', 'service > both.jsonl')
    expect(err).toBe('written\nwritten\n')
    const lines = (await readFile(join(folder, 'both.jsonl'), 'utf8')).trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line).id)).toEqual(['0', '1', '0'])
  })

  it('E2: every write after the end of the reader fails at once', async () => {
    const { err } = await run('await write(200); await write(200); await write(1)', 'service | head -c 1')
    expect(err).toBe(`${NO_READER}\n`.repeat(3))
  })
})
