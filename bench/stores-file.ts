import { closeSync, fdatasync, fdatasyncSync, openSync, write, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type FileDeadLetters, fileDeadLetters } from '../src/adapters/file/index.ts'
import { encodeLetter } from '../src/core/dead-letter/json.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { makeLetters } from './harness/letters.ts'
import {
  fillAndMeasure,
  IN_FLIGHT,
  LETTERS,
  PACED,
  PER_SECOND,
  pacedLatencies,
  perSecond,
  ROUNDS,
  sendAll,
  WARM_UP,
  withTempFolder,
} from './harness/load.ts'
import { percentile } from './harness/percentile.ts'
import { atLeast, atMost, type Bar, median, type Row, row } from './harness/result.ts'

const writeAsync = promisify(write)
const syncAsync = promisify(fdatasync)
const MILLION = fileURLToPath(new URL('./stores-file-million.ts', import.meta.url))

const OURS = `file store, ${IN_FLIGHT} writers in flight`
const RAW = `raw: ${IN_FLIGHT} appends of the same bytes back to back, then one sync`
const IN_POOL = `raw: the same appends all at once in the thread pool, then one sync`
const ONE_WRITE = `raw: the same bytes as one write, then one sync`
const ENCODED = `raw, but letters are made JSON first`
const P99 = `file store, ${PER_SECOND} writes/s, p99`
const RAW_P99 = `raw: append and sync, ${PER_SECOND} writes/s, p99`

async function withStore<T>(work: (store: FileDeadLetters) => Promise<T>): Promise<T> {
  return await withTempFolder(async dir => {
    const store = fileDeadLetters({ dir })
    await store.stats()
    const result = await work(store)
    await store.close()
    return result
  })
}

/** Letters per second with a fixed number of concurrent sends. */
function throughput(warmUp: readonly DeadLetter[], letters: readonly DeadLetter[]): Promise<number> {
  return withStore(async store => {
    await sendAll(warmUp, letter => store.send(letter))
    return await perSecond(letters.length, () => sendAll(letters, letter => store.send(letter)))
  })
}

function toLine(letter: DeadLetter): Buffer {
  return Buffer.from(`{"crc":"00000000","put":${encodeLetter(letter)}}\n`)
}

/** The speed of the disk for a program that only writes these bytes, one after the other, and blocks meanwhile. */
function rawThroughput(lines: readonly Buffer[]): Promise<number> {
  return withTempFolder(async dir => {
    const fd = openSync(join(dir, 'raw'), 'a')
    const rate = await perSecond(lines.length, () => {
      for (const [index, line] of lines.entries()) {
        writeSync(fd, line)
        if (index % IN_FLIGHT === IN_FLIGHT - 1) fdatasyncSync(fd)
      }
    })
    closeSync(fd)
    return rate
  })
}

/** The same without blocking the event loop. */
function pooledThroughput<T>(
  letters: readonly T[],
  toBytes: (letter: T) => Buffer,
  isOneWrite = false,
): Promise<number> {
  return withTempFolder(async dir => {
    const file = await open(join(dir, 'raw'), 'a')
    const rate = await perSecond(letters.length, async () => {
      for (let start = 0; start < letters.length; start += IN_FLIGHT) {
        const batch = letters.slice(start, start + IN_FLIGHT).map(toBytes)
        const pieces = isOneWrite ? [Buffer.concat(batch)] : batch
        await Promise.all(pieces.map(piece => writeAsync(file.fd, piece, 0, piece.length, null)))
        await syncAsync(file.fd)
      }
    })
    await file.close()
    return rate
  })
}

async function pacedP99(letters: readonly DeadLetter[]): Promise<number> {
  const latencies = await withStore(store => pacedLatencies(PACED, index => store.send(letters[index]!)))
  return percentile(latencies, 0.99)
}

/** The same for a plain append with its own sync, one after the other. */
async function rawPacedP99(lines: readonly Buffer[]): Promise<number> {
  const latencies = await withTempFolder(async dir => {
    const file = await open(join(dir, 'raw'), 'a')
    let last: Promise<unknown> = Promise.resolve()
    const append = (index: number) => {
      last = last.then(async () => {
        await writeAsync(file.fd, lines[index]!, 0, lines[index]!.length, null)
        await syncAsync(file.fd)
      })
      return last
    }
    const measured = await pacedLatencies(PACED, append)
    await file.close()
    return measured
  })
  return percentile(latencies, 0.99)
}

interface MillionReport {
  readonly openMs: number
  readonly firstPageMs: number
  readonly filteredPageMs: number
  readonly memoryMb: number
}

/** Dead letters in files: the speed of durable writes, and the cost of a million letters. */
export async function fileStoreRows(): Promise<{ rows: Row[]; bars: Bar[] }> {
  const letters = makeLetters(LETTERS)
  const lines = letters.map(toLine)
  const warmUp = makeLetters(WARM_UP)
  await throughput(warmUp, letters)
  const ours: number[] = []
  const raw: number[] = []
  const inPool: number[] = []
  const oneWrite: number[] = []
  const encoded: number[] = []
  const p99: number[] = []
  const rawP99: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await throughput(warmUp, letters))
    raw.push(await rawThroughput(lines))
    inPool.push(await pooledThroughput(lines, line => line))
    oneWrite.push(await pooledThroughput(lines, line => line, true))
    encoded.push(await pooledThroughput(letters, toLine))
    p99.push(await pacedP99(letters))
    rawP99.push(await rawPacedP99(lines))
  }
  const { openMs, firstPageMs, filteredPageMs, memoryMb } = await fillAndMeasure<MillionReport>(
    [MILLION, 'fill'],
    [MILLION, 'measure'],
  )
  const rows = [
    row(OURS, 'letters/s', ours),
    row(RAW, 'letters/s', raw),
    row(IN_POOL, 'letters/s', inPool),
    row(ONE_WRITE, 'letters/s', oneWrite),
    row(ENCODED, 'letters/s', encoded),
    row(P99, 'ms', p99),
    row(RAW_P99, 'ms', rawP99),
    row('file store, 1 000 000 letters: open', 'ms', [openMs]),
    row('file store, 1 000 000 letters: first page', 'ms', [firstPageMs]),
    row('file store, 1 000 000 letters: first page of a channel', 'ms', [filteredPageMs]),
    row('file store, 1 000 000 letters: memory', 'MB', [memoryMb]),
  ]
  return {
    rows,
    bars: [
      atLeast('file store ÷ raw limit', median(rows, OURS) / median(rows, RAW), 0.5),
      atMost('file store, durable write p99, ms', median(rows, P99), 5),
      atMost('file store, first page of 1 000 000, ms', firstPageMs, 200),
      atMost('file store, memory with 1 000 000, MB', memoryMb, 300),
    ],
  }
}
