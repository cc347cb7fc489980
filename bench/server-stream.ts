// Two hundred consoles on the live stream: what they cost, and whether one that does not read slows the others.
// `node bench/server-stream.ts [readers] [seconds]`
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { memoryStore } from '../src/adapters/memory/index.ts'
import { systemClock, systemRandom } from '../src/ports/clock.ts'
import { createServer } from '../src/server/index.ts'
import { createFactory } from '../src/testing/factories.ts'

const LETTERS_PER_SECOND = 20
const [readers = 200, seconds = 10] = process.argv.slice(2).map(Number)
const sleep = (ms: number) => new Promise<void>(resolve => systemClock.schedule(ms, resolve))

/** Readers run in their own thread, so that the server does not pay for them. */
function readInThread({ port, count }: { readonly port: number; readonly count: number }): void {
  const request = `GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`
  const delays: number[] = []
  for (let index = 0; index < count; index++) {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('error', () => {})
    if (index > 0) {
      // The first reader measures, the second never reads, and the others read.
      if (index === 1) socket.pause()
      else socket.resume()
      continue
    }
    socket.on('data', bytes => {
      for (const [, at] of String(bytes).matchAll(/event: change\ndata: \{[^\n]*"at":"([^"]+)"/g))
        delays.push(systemClock.now() - Date.parse(at!))
    })
  }
  parentPort!.on('message', () => parentPort!.postMessage(delays))
}

async function run(): Promise<void> {
  const store = memoryStore({})
  const make = createFactory({ clock: systemClock, random: systemRandom })
  const server = createServer({
    stores: store,
    consoleDir: 'none',
    streams: { perToken: readers, total: readers },
  })
  const { port } = await server.listen({ port: 0 })
  const file = fileURLToPath(import.meta.url)
  const worker = new Worker(file, { workerData: { port, count: readers }, argv: [] })
  await sleep(2_000)
  const before = process.threadCpuUsage()
  const start = systemClock.now()
  while (systemClock.now() - start < seconds * 1_000) {
    await store.deadLetters.send(make.letter())
    await sleep(1_000 / LETTERS_PER_SECOND)
  }
  const used = process.threadCpuUsage(before)
  const elapsedMs = systemClock.now() - start
  const told = new Promise<number[]>(resolve => worker.once('message', resolve))
  worker.postMessage('how long did it take?')
  const delays = (await told).sort((a, b) => a - b)
  const share = (used.user + used.system) / 1_000 / elapsedMs
  process.stdout.write(
    `${readers} readers, one of them stuck, ${LETTERS_PER_SECOND} letters a second for ${seconds} s\n` +
      `the server took ${(share * 100).toFixed(1)} % of a core\n` +
      `a reader beside the stuck one was told of ${delays.length} changes, after ${delays[delays.length >> 1]} ms (median), ${delays.at(-1)} ms (longest)\n`,
  )
  await worker.terminate()
  await server.close()
  await store.close()
}

if (isMainThread) await run()
else readInThread(workerData as { port: number; count: number })
