import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import { BUILT } from './harness/lazaret-server.ts'
import { makeLetters } from './harness/letters.ts'
import { milliseconds, sendAll, withTempFolder } from './harness/load.ts'
import { atMost, type BenchResult, machine, type Row, row } from './harness/result.ts'

const start = promisify(execFile)

const ROUNDS = 15
const LETTERS = 1_000
const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Start {
  readonly args: readonly string[]
  /** The bar, in ms [none]. */
  readonly atMostMs?: number
}

function importing(name: string): readonly string[] {
  return ['--input-type=module', '--eval', `import '${name}'`]
}

/** How long a process lives that starts the built command, or imports the built package, and does nothing else. */
export async function run(): Promise<BenchResult> {
  return withTempFolder(async dir => {
    const path = `${dir}/letters.db`
    const store = openSqlite({ path })
    await sendAll(makeLetters(LETTERS), letter => store.deadLetters.send(letter))
    await store.close()
    const starts: Readonly<Record<string, Start>> = {
      'node, an empty script': { args: ['--eval', ''] },
      'lazaret --help': { args: [BUILT, '--help'], atMostMs: 80 },
      'lazaret dlq list, SQLite': {
        args: [BUILT, 'dlq', 'list', '--store', `sqlite:${path}`],
        atMostMs: 200,
      },
      "import 'lazaret'": { args: importing('lazaret'), atMostMs: 80 },
      "import 'lazaret/server'": { args: importing('lazaret/server'), atMostMs: 180 },
    }
    const rows = await rowsOf(starts)
    const bars = rows.flatMap(({ name, median }) => {
      const { atMostMs } = starts[name]!
      return atMostMs === undefined ? [] : atMost(`${name}, ms`, median, atMostMs)
    })
    return { bench: 'startup', machine: machine(), rows, bars }
  })
}

/** Starts them in turn, so that a busy moment of the machine affects all of them. The first round is not counted. */
async function rowsOf(starts: Readonly<Record<string, Start>>): Promise<Row[]> {
  const samples: Record<string, number[]> = {}
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, { args }] of Object.entries(starts)) {
      const ms = await milliseconds(() => start(process.execPath, [...args], { cwd: ROOT }))
      if (round > 0) samples[name] = [...(samples[name] ?? []), ms]
    }
  }
  return Object.entries(samples).map(([name, each]) => row(name, 'ms', each))
}
