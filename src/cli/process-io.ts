import { userInfo } from 'node:os'
import { createInterface } from 'node:readline'
import type { WriteStream } from 'node:tty'
import { fileBehind, writeAll } from '../adapter-kit/file-system.ts'
import { systemClock, systemRandom } from '../ports/clock.ts'
import { type Io, type Out, OutputClosedError } from './io.ts'

const DEFAULT_COLUMNS = 80

/** The effects of a real process. */
export function processIo(): Io {
  const { stdin, env } = process
  let interrupted: AbortSignal | undefined
  return {
    stdout: streamOut(process.stdout),
    stderr: streamOut(process.stderr),
    stdin: { isTerminal: stdin.isTTY === true, bytes: stdin },
    env,
    cwd: process.cwd(),
    user: env['USER'] || env['LOGNAME'] || userName(),
    clock: systemClock,
    random: systemRandom,
    // Created on first use: Ctrl-C kills a command that does not handle it, as usual.
    get interrupted() {
      interrupted ??= interruption()
      return interrupted
    },
    onHangup(hungUp) {
      process.on('SIGHUP', hungUp)
      return () => process.off('SIGHUP', hungUp)
    },
    ask,
    openStore: async (url, options) => (await import('./open-store.ts')).openStore(url, options),
  }
}

/** Handles the first Ctrl-C only, so that a second one kills the process at once. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort())
  return controller.signal
}

/** A container may run the process under a user ID without a name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}

function streamOut(stream: WriteStream): Out {
  let broken: Error | undefined
  const fail = (error: NodeJS.ErrnoException) => {
    broken ??= error.code === 'EPIPE' ? new OutputClosedError() : error
  }
  stream.on('error', fail)
  const file = fileBehind(stream)
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      // A terminal of unknown width reports 0.
      return stream.isTTY === true ? stream.columns || DEFAULT_COLUMNS : undefined
    },
    async write(text) {
      if (broken !== undefined) throw broken
      if (file !== undefined) return await writeAll(file, Buffer.from(text), 'end')
      await new Promise<void>(resolve => {
        stream.write(text, error => {
          if (error) fail(error)
          resolve()
        })
      })
      if (broken !== undefined) throw broken
    },
  }
}

function ask(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise(resolve => {
    lines.once('SIGINT', () => lines.close())
    lines.once('close', () => resolve(undefined))
    lines.question(question, answer => {
      resolve(answer)
      lines.close()
    })
  })
}
