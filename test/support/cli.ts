import { memoryStore } from '../../src/adapters/memory/store.ts'
import type { ExitCode, Io, Out } from '../../src/cli/io.ts'
import { openStore } from '../../src/cli/open-store.ts'
import { run } from '../../src/cli/run.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { Store } from '../../src/ports/store.ts'
import type { Factory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { factoryOf } from './memory-letters.ts'

export interface Ran {
  readonly code: ExitCode
  readonly out: string
  readonly err: string
  /** The JSON lines of stdout. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  readonly json: any[]
}

export interface RunWith extends Partial<Io> {
  /** As if on a terminal of this width. */
  readonly columns?: number
  /** What a person answers. */
  readonly answer?: string
  readonly input?: string
}

export interface CliWorld {
  readonly store: Store
  readonly clock: FakeClock
  readonly factory: Factory
  lazaret(...argv: readonly string[]): Promise<Ran>
  lazaretWith(io: RunWith, ...argv: readonly string[]): Promise<Ran>
  /** Sends letters, a second apart, the last one newest. */
  bury(...letters: readonly DeadLetter[]): Promise<readonly DeadLetter[]>
  audited(): Promise<readonly (readonly [action: string, target: string, by: string])[]>
}

/** The command line in process, on a memory store that outlives each command, at a time that stands still. */
export function cliWorld(cwd = '/nowhere'): CliWorld {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const factory = factoryOf(clock)
  const kept: Store = { ...store, close: async () => {} }

  async function lazaretWith(given: RunWith, ...argv: readonly string[]): Promise<Ran> {
    const { columns, answer, input = '', ...io } = given
    const stdout = recorder(columns)
    const stderr = recorder(columns)
    const code = await run(argv, {
      stdout,
      stderr,
      stdin: { isTerminal: columns !== undefined, bytes: bytesOf(input) },
      env: {},
      cwd,
      user: 'ann',
      clock,
      random: seededRandom(7),
      interrupted: new AbortController().signal,
      onHangup: () => () => {},
      ask: async question => {
        await stderr.write(`${question}\n`)
        return answer
      },
      openStore: async (url, options) => (url === 'memory:' ? kept : openStore(url, options)),
      ...io,
    })
    const out = stdout.text()
    return {
      code,
      out,
      err: stderr.text(),
      get json() {
        return out
          .split('\n')
          .filter(line => line !== '')
          .map(line => JSON.parse(line))
      },
    }
  }

  return {
    store,
    clock,
    factory,
    lazaretWith,
    lazaret: (...argv) => lazaretWith({ env: { LAZARET_STORE: 'memory:' } }, ...argv),
    async bury(...letters) {
      for (const letter of letters) await store.deadLetters.send(letter)
      return letters
    },
    async audited() {
      const { entries } = await store.audit.list()
      return entries.map(({ action, target, by }) => [action, target, by] as const)
    },
  }
}

function recorder(columns: number | undefined): Out & { text(): string } {
  const written: string[] = []
  return {
    isTerminal: columns !== undefined,
    columns,
    write: async text => void written.push(text),
    text: () => written.join(''),
  }
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}
