import { systemClock } from '../../src/ports/clock.ts'
import type { ProfileProcess } from '../examples/profile-service.ts'
import type { ProfileWorld } from './profile-world.ts'

export interface OutageOptions {
  readonly outageMs: number
  /** Events published before it, which begins when half of them are handled. */
  readonly before: number
  /** Events published when it begins, and in every second of it. */
  readonly atOnce: number
  readonly perSecond: number
  /** How long everything may take to be handled after the database is back. */
  readonly recoveryMs: number
  /** The outage lasts longer until this is true, so that a slow machine sees as much as a fast one [at once]. */
  readonly hasSeenEnough?: (soFar: OutageSoFar) => boolean
}

/** What was seen while the database is away. */
export type OutageSoFar = Pick<
  OutageReport,
  'publishedDuringOutage' | 'looks' | 'looksPaused' | 'looksDown' | 'mostAttempts'
>

/** What was seen of one outage. Times are from the stop of the database, or from its return. */
export interface OutageReport {
  readonly published: number
  readonly handled: number
  readonly handledBefore: number
  readonly publishedDuringOutage: number
  readonly lastedMs: number
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
export async function runDatabaseOutage(world: ProfileWorld, options: OutageOptions): Promise<OutageReport> {
  const { postgres, service } = world
  await world.register(options.before)
  await world.hasRows(options.before / 2)
  const handledBefore = await world.rows()
  await postgres.stop()
  const goneAt = systemClock.now()
  const looks = await watch(world, options)
  const { ready, waiting } = await world.status()
  await postgres.start()
  const backAt = systemClock.now()
  const soFar = seen(world, options, looks)
  await world.hasRows(world.published, options.recoveryMs)
  const recoveredAfterMs = systemClock.now() - backAt

  const { deadLetters, quarantined } = await world.status()
  return {
    ...soFar,
    published: world.published,
    handled: await world.rows(),
    handledBefore,
    lastedMs: backAt - goneAt,
    pausedAfterMs: looks.find(({ isPaused }) => isPaused)?.afterMs ?? Number.NaN,
    mostInHand: Math.max(...looks.map(({ inHand }) => inHand)),
    failedAttempts: attemptsOf(world).length,
    waitingAtReturn: (ready ?? 0) + waiting,
    recoveredAfterMs,
    mostDeadLetters: Math.max(...looks.map(({ letters }) => letters)),
    deadLetters: deadLetters + quarantined,
    exitCode: await service.stop(),
  }
}

function seen(world: ProfileWorld, { before }: OutageOptions, looks: readonly Look[]): OutageSoFar {
  return {
    publishedDuringOutage: world.published - before,
    looks: looks.length,
    looksPaused: looks.filter(({ isPaused }) => isPaused).length,
    looksDown: looks.filter(({ isDown }) => isDown).length,
    mostAttempts: Math.max(0, ...attemptsOf(world)),
  }
}

function attemptsOf({ service }: ProfileWorld): readonly number[] {
  return service.said('attempt failed').map(({ attempt }) => Number(attempt))
}

interface Look {
  readonly afterMs: number
  readonly isDown: boolean
  readonly isPaused: boolean
  readonly inHand: number
  readonly letters: number
}

/** Users go on registering while the database is away. */
async function watch(world: ProfileWorld, options: OutageOptions): Promise<readonly Look[]> {
  const { outageMs, before, atOnce, perSecond, hasSeenEnough = () => true } = options
  const looks: Look[] = []
  const goneAt = systemClock.now()
  const isOver = (afterMs: number) => afterMs >= outageMs && hasSeenEnough(seen(world, options, looks))
  for (let afterMs = 0; !isOver(afterMs); afterMs = systemClock.now() - goneAt) {
    const due = before + atOnce + Math.floor((perSecond * afterMs) / 1_000)
    await world.register(due - world.published)
    looks.push(look(systemClock.now() - goneAt, await world.service.health()))
    await new Promise<void>(resolve => systemClock.schedule(LOOK_MS, resolve))
  }
  return looks
}

function look(afterMs: number, { code, report }: Awaited<ReturnType<ProfileProcess['health']>>): Look {
  const [consumer] = report.channels
  return {
    afterMs,
    isDown: code === 503 && report.status === 'DOWN',
    isPaused: consumer!.paused.includes('breaker'),
    inHand: consumer!.active + consumer!.waiting,
    letters: report.dlqSize,
  }
}
