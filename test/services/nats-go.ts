import { fileURLToPath } from 'node:url'
import { findGoModule } from './go-module.ts'
import type { FoundProgram } from './go-program.ts'
import { runProgram } from './run-program.ts'

/** A message as the client of Go writes and reads it. */
export interface GoMessage {
  readonly subject: string
  readonly data: Buffer
  readonly headers: Readonly<Record<string, readonly string[]>>
}

const FILES = fileURLToPath(new URL('nats', import.meta.url))

/** A small program with the client of Go. */
export async function findGoClient(): Promise<FoundProgram> {
  return findGoModule('nats-go-client', FILES)
}

/** Resolves when the stream has every message. */
export async function publishByGo(url: string, messages: readonly GoMessage[]): Promise<void> {
  const lines = messages.map(({ data, ...rest }) =>
    JSON.stringify({ ...rest, data: data.toString('base64') }),
  )
  await runGo(['publish', url], lines.join('\n'))
}

/** The first messages of a stream, which has at least so many. */
export async function readByGo(url: string, stream: string, count: number): Promise<GoMessage[]> {
  const output = await runGo(['read', url, stream, String(count)], '')
  return output
    .trim()
    .split('\n')
    .map(line => {
      const { subject, data, headers } = JSON.parse(line)
      return { subject, data: Buffer.from(data ?? '', 'base64'), headers: headers ?? {} }
    })
}

async function runGo(words: readonly string[], input: string): Promise<string> {
  const found = await findGoClient()
  if (!found.found) throw new Error(found.why)
  return runProgram(found.binary, words, input)
}
