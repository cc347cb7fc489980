import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { memoryMb } from '../fleet/process-cost.ts'
import { milliseconds } from '../harness/load.ts'
import { percentile } from '../harness/percentile.ts'
import type { Topics } from './topics.ts'

const PROGRAM = join(import.meta.dirname, 'lag-consumer.ts')
/** The consumer writes a line after each hundredth of the events. */
const LINES = 100
/** The first consumer handles such a share of the events, and is killed. */
const BEFORE_KILL = 0.05

export interface AfterKill {
  /** From the start of the process to its first event. */
  readonly firstEventMs: number
  /** The part of it in which Node loads the program. On a busy machine it is the longest. */
  readonly loadingMs: number
  /** The resident memory during the second tenth of the lag, and during the last one: the medians. The first tenth is a warm-up. */
  readonly earlyMb: number
  readonly lateMb: number
  /** The highest. */
  readonly peakMb: number
}

/** A consumer with a long way to go is killed, and another process takes its place. */
export async function killAtLag(topics: Topics, messages: number): Promise<AfterKill> {
  const channel = await topics.create(topics.newName('lag'))
  await topics.fill(channel, messages)
  const every = messages / LINES
  const first = start(topics, channel, every, messages * BEFORE_KILL)
  await handled(first, messages * BEFORE_KILL)
  await kill(first)
  let second!: Running
  const loadingMs = await milliseconds(async () => {
    second = start(topics, channel, every, messages)
    await second.lines.next()
  })
  const firstEventMs = loadingMs + (await milliseconds(() => handled(second, 0)))
  const samples: number[] = []
  const left = messages * (1 - 2 * BEFORE_KILL)
  for (let count = every; count <= left; count += every) {
    await handled(second, count)
    samples.push(memoryMb(second.child.pid!, 'status', 'VmRSS'))
  }
  const peakMb = memoryMb(second.child.pid!, 'status', 'VmHWM')
  await kill(second)
  const tenth = Math.floor(samples.length / 10)
  const earlyMb = percentile(samples.slice(tenth, 2 * tenth), 0.5)
  return { firstEventMs, loadingMs, earlyMb, lateMb: percentile(samples.slice(-tenth), 0.5), peakMb }
}

interface Running {
  readonly child: ChildProcess
  readonly lines: AsyncIterator<string>
}

function start({ brokers }: Topics, channel: string, every: number, limit: number): Running {
  const words = ['--no-warnings', PROGRAM, brokers.join(','), channel, String(every), String(limit)]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, lines: createInterface({ input: child.stdout! })[Symbol.asyncIterator]() }
}

async function handled({ lines }: Running, count: number): Promise<void> {
  for (;;) {
    const { value, done } = await lines.next()
    if (done) throw new Error('bench: the consumer ended')
    if (Number(value) >= count) return
  }
}

async function kill({ child }: Running): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
