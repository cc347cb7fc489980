import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

// The receiver of a storm, as a process with its own clock. It goes down and comes back on command, and records when
// each order arrives.

export type Command = 'down' | 'up' | 'report'

/** One order that came, and when: milliseconds on the receiver's clock, which nobody sets. */
export interface Arrival {
  readonly order: string
  readonly atMs: number
}

/** Where it listens; that it went down or came back, and when; everything that came. */
export type ReceiverMessage =
  | { readonly url: string }
  | { readonly done: 'down' | 'up'; readonly atMs: number }
  | { readonly arrivals: readonly Arrival[] }

const ORDER = /storm-\d+/g
const arrivals: Arrival[] = []
let server: Server | undefined
let port = 0

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
const tell = (told: ReceiverMessage) => process.send!(told)

async function up(): Promise<void> {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const atMs = nowMs()
      const body = Buffer.concat(chunks)
      const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString()
      for (const [order] of text.matchAll(ORDER)) arrivals.push({ order, atMs })
      response.writeHead(204).end()
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
}

/** Stops listening and closes all open connections. */
async function down(): Promise<void> {
  const closed = server && once(server, 'close')
  server?.close()
  server?.closeAllConnections()
  await closed
}

process.on('message', (command: Command) => {
  if (command === 'report') tell({ arrivals })
  else
    void (command === 'up' ? up() : down()).then(() => {
      tell({ done: command, atMs: nowMs() })
    })
})
process.on('disconnect', () => process.exit())
await up()
tell({ url: `http://127.0.0.1:${port}` })
