import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { memoryMb } from '../fleet/process-cost.ts'
import { milliseconds } from '../harness/load.ts'
import type { Topics } from './topics.ts'

const PROGRAM = join(import.meta.dirname, 'lag-consumer.ts')
/** The first consumer is killed after these, and the memory of the second is first looked at after these. */
const SOME = 50_000

export interface AfterKill {
  /** From the start of the process to its first event. */
  readonly firstEventMs: number
  /** Resident, after the first events and at most. */
  readonly earlyMb: number
  readonly peakMb: number
}

/** A consumer with a long way to go is killed, and another process takes its place. */
export async function killAtLag(topics: Topics, messages: number): Promise<AfterKill> {
  const channel = await topics.create(topics.newName('lag'))
  await topics.fill(channel, messages)
  const first = start(topics, channel)
  await handled(first, SOME)
  await kill(first)
  let second!: Running
  const firstEventMs = await milliseconds(async () => {
    second = start(topics, channel)
    await handled(second, 0)
  })
  await handled(second, SOME)
  const earlyMb = memoryMb(second.child.pid!, 'status', 'VmHWM')
  await handled(second, messages - 2 * SOME)
  const peakMb = memoryMb(second.child.pid!, 'status', 'VmHWM')
  await kill(second)
  return { firstEventMs, earlyMb, peakMb }
}

interface Running {
  readonly child: ChildProcess
  readonly lines: AsyncIterator<string>
}

function start({ brokers }: Topics, channel: string): Running {
  const words = ['--no-warnings', PROGRAM, brokers.join(','), channel]
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
