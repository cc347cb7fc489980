import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

const MOST_COMPLAINT = 2_000

/** Runs a program with this input to its end, and returns its output. */
export async function runProgram(
  binary: string,
  words: readonly string[],
  input: string,
  env = process.env,
): Promise<string> {
  const child = spawn(binary, words, { env })
  child.stdin.end(input)
  const [output, complaint] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  if (child.exitCode !== 0) throw new Error(`${binary} failed:\n${complaint.slice(-MOST_COMPLAINT)}`)
  return output
}
