import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

export type Child = ChildProcessByStdio<null, Readable, null>

export function start(script: string, ...args: readonly string[]): Child {
  return spawn(process.execPath, ['--no-warnings', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Lets it say so many lines, kills it without warning, and answers with all that it has said. */
export function killAfter(child: Child, lines: number): Promise<string> {
  return outputOf(child, output => {
    if (output.split('\n').length > lines) child.kill('SIGKILL')
  })
}

export function outputOf(
  child: Pick<ChildProcessByStdio<null, Readable, Readable | null>, 'stdout' | 'on'>,
  onOutput: (output: string) => void = () => {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (piece: string) => {
      output += piece
      onOutput(output)
    })
    child.on('error', reject)
    child.on('close', () => resolve(output))
  })
}

/** What it has said by its end. Rejects where it does not end by itself, and with 0. */
export async function outputToEnd(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    errors += piece
  })
  const ended = new Promise<unknown>(resolve => {
    child.on('close', (code, signal) => resolve(code ?? signal))
  })
  const output = await outputOf(child)
  const how = await ended
  if (how !== 0) throw new Error(`ended with ${how}: ${errors}\n${output.slice(-500)}`)
  return output
}

export function idsAfter(what: string, lines: readonly string[]): string[] {
  return lines.filter(line => line.startsWith(`${what} `)).map(line => line.slice(what.length + 1))
}
