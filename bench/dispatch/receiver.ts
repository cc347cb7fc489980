import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MARKER } from './payload.ts'

/** A message to the process: how many events to wait for, from now on, at each of how many ports. */
export interface Ask {
  readonly expect: number
  readonly doors: number
}
/** A message from the process: its ports, and that all expected events have arrived. */
export type ReceiverMessage = { readonly urls: readonly string[] } | 'all'

const DOORS = 2
const marker = Buffer.from(MARKER)
const received: number[] = Array(DOORS).fill(0)
let expected = Number.POSITIVE_INFINITY
let watched = 0

/** Counts in the whole body, because a chunk can end inside a marker. */
function count(body: Buffer): number {
  let found = 0
  for (let at = body.indexOf(marker); at !== -1; at = body.indexOf(marker, at + marker.length)) found++
  return found
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

const tell = (told: ReceiverMessage) => process.send!(told)

/** Answers like the push API of Loki and OTLP/HTTP logs after a success, at once. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/loki/api/v1/push') response.writeHead(204).end()
  else if (request.url === '/v1/logs') {
    const type = request.headers['content-type'] ?? ''
    response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '')
  } else response.writeHead(request.url === '/events' ? 202 : 404).end()
}

async function open(door: number): Promise<string> {
  const server = createServer((request, response) => {
    void bodyOf(request).then(body => {
      received[door]! += count(body)
      answer(request, response)
      if (received.filter(events => events >= expected).length < watched) return
      expected = Number.POSITIVE_INFINITY
      tell('all')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

process.on('message', ({ expect, doors }: Ask) => {
  received.fill(0)
  expected = expect
  watched = doors
})
process.on('disconnect', () => process.exit())
tell({ urls: await Promise.all(Array.from({ length: DOORS }, (_, door) => open(door))) })
