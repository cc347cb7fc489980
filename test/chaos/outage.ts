import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { withAdmin } from '../../src/adapters/rabbitmq/admin.ts'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { createEvent } from '../../src/index.ts'
import { systemClock } from '../../src/ports/system-clock.ts'
import { Patience, uniqueName } from '../../src/testing/conformance/harness.ts'
import { ProfileProcess } from '../examples/profile-service.ts'
import type { PostgresNode } from '../services/postgres-node.ts'

export interface OutageOptions {
  readonly amqp: string
  readonly postgres: PostgresNode
  readonly outageMs: number
  /** Events published before it, which begins when half of them are handled. */
  readonly before: number
  /** Events published when it begins, and in every second of it. */
  readonly atOnce: number
  readonly perSecond: number
  /** How long everything may take to be handled after the database is back. */
  readonly recoveryMs: number
  /** What the example's config is told; without it, its defaults hold. */
  readonly env?: NodeJS.ProcessEnv | undefined
}

/** What was seen of one outage. Times are from the stop of the database, or from its return. */
export interface OutageReport {
  readonly published: number
  readonly handled: number
  readonly handledBefore: number
  readonly publishedDuringOutage: number
  readonly pausedAfterMs: number
  /** Looks at the service during the outage, those that saw it paused, and those that saw it DOWN with 503. */
  readonly looks: number
  readonly looksPaused: number
  readonly looksDown: number
  /** Events that the service held at once: a paused one has no more than its prefetch window. */
  readonly mostInHand: number
  readonly failedAttempts: number
  /** Of one event. */
  readonly mostAttempts: number
  readonly waitingAtReturn: number
  readonly recoveredAfterMs: number
  /** Dead-letter and quarantine queues: the most that were there at any look, and at the end. */
  readonly mostDeadLetters: number
  readonly deadLetters: number
  readonly exitCode: number | null
}

const LOOK_MS = 200

/** Takes the database away from the running example, and gives it back. */
export async function takeDatabaseAway(options: OutageOptions): Promise<OutageReport> {
  const { amqp, postgres, outageMs, before, atOnce, perSecond, recoveryMs, env } = options
  const channel = uniqueName('users')
  const service = await ProfileProcess.start({ amqp, database: postgres.url, channel, more: env })
  const broker = rabbitmq({ url: amqp })
  let published = 0
  const publish = async (count: number) => {
    await broker.publish(Array.from({ length: count }, () => registration(channel)))
    published += count
  }
  const rows = () => rowsOf(channel, postgres)
  const status = () => withAdmin({ url: amqp }, admin => admin.status(channel))
  try {
    await publish(before)
    await until(async () => (await rows()) >= before / 2, 'traffic', 20_000)

    const handledBefore = await rows()
    await postgres.stop()
    const goneAt = systemClock.now()
    const looks: Look[] = []
    let pausedAfterMs = Number.NaN
    while (systemClock.now() - goneAt < outageMs) {
      const due = atOnce + Math.floor((perSecond * (systemClock.now() - goneAt)) / 1_000)
      await publish(due - (published - before))
      const look = lookOf(await service.health())
      looks.push(look)
      if (look.isPaused && Number.isNaN(pausedAfterMs)) pausedAfterMs = systemClock.now() - goneAt
      await pause(LOOK_MS)
    }
    const { ready, waiting } = await status()
    await postgres.start()
    const backAt = systemClock.now()
    await until(async () => (await rows()) >= published, 'handling them all', recoveryMs)
    const recoveredAfterMs = systemClock.now() - backAt

    const { deadLetters, quarantined } = await status()
    const attempts = service.said('attempt failed').map(({ attempt }) => Number(attempt))
    const exitCode = await service.stop()
    return {
      published,
      handled: await rows(),
      handledBefore,
      publishedDuringOutage: published - before,
      pausedAfterMs,
      looks: looks.length,
      looksPaused: looks.filter(({ isPaused }) => isPaused).length,
      looksDown: looks.filter(({ isDown }) => isDown).length,
      mostInHand: Math.max(...looks.map(({ inHand }) => inHand)),
      failedAttempts: attempts.length,
      mostAttempts: Math.max(0, ...attempts),
      waitingAtReturn: (ready ?? 0) + waiting,
      recoveredAfterMs,
      mostDeadLetters: Math.max(...looks.map(({ letters }) => letters)),
      deadLetters: deadLetters + quarantined,
      exitCode,
    }
  } finally {
    service.signal('SIGKILL')
    await broker.close()
  }
}

interface Look {
  readonly isDown: boolean
  readonly isPaused: boolean
  readonly inHand: number
  readonly letters: number
}

function lookOf({ code, report }: Awaited<ReturnType<ProfileProcess['health']>>): Look {
  const [consumer] = report.channels
  return {
    isDown: code === 503 && report.status === 'DOWN',
    isPaused: consumer!.paused.includes('breaker'),
    inHand: consumer!.active + consumer!.waiting,
    letters: report.dlqSize,
  }
}

function registration(channel: string) {
  const userId = randomUUID()
  const payload = { userId, email: `${userId}@${channel}.example`, displayName: 'somebody', version: 1 }
  return createEvent({ channel, type: 'user.registered', payload })
}

async function rowsOf(channel: string, { url }: PostgresNode): Promise<number> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: found } = await client.query('select count(*) from profiles where email like $1', [
      `%@${channel}.example`,
    ])
    return Number(found[0].count)
  } finally {
    await client.end()
  }
}

async function until(isSo: () => Promise<boolean>, what: string, limitMs: number): Promise<void> {
  await new Patience({ patienceMs: limitMs }).eventually(isSo, what)
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => systemClock.schedule(ms, resolve))
}
