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

export function outputOf(child: Child, onOutput: (output: string) => void = () => {}): Promise<string> {
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

export function idsAfter(what: string, lines: readonly string[]): string[] {
  return lines.filter(line => line.startsWith(`${what} `)).map(line => line.slice(what.length + 1))
}
