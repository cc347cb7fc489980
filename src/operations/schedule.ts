import { createRequire } from 'node:module'
import type { Cron } from 'croner'
import { ClientMissingError, requireClient } from '../adapter-kit/load-client.ts'
import { custom, type Rule } from '../core/options/rules.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ledger } from '../ports/ledger.ts'
import { sleep } from '../runtime/sleep.ts'
import { claimLease, RENEW_MS } from './held-lease.ts'

/** Work that runs on a schedule. */
export interface Schedule {
  /** Ends the schedule. Resolves when the run under way has ended. */
  close(): Promise<void>
}

interface ScheduleOptions {
  readonly clock: Clock
  readonly onError?: ((error: unknown) => void) | undefined
  /**
   * Of several processes with one ledger, the one that claims the due time in it does the work. When it dies meanwhile,
   * another one does it again from the start.
   */
  readonly turn: { readonly ledger: Ledger | undefined; readonly what: string }
}

const MAX_TIMER_MS = 24 * 60 * 60 * 1_000
/** The name under which due times are claimed. */
const SCHEDULE = 'lazaret schedule'

/** The rule for options that take a schedule. */
export const cronRule: Rule<string> = custom(
  isCron,
  "give the five fields of a cron schedule in UTC, such as '0 2 * * *' for 02:00 daily",
  { kind: 'text' },
)

function isCron(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim().split(/\s+/).length !== 5) return false
  try {
    return cronOf(value) !== undefined
  } catch (error) {
    if (error instanceof ClientMissingError) throw error
    return false
  }
}

const require = createRequire(import.meta.url)

/** Loads croner for the first schedule, so that `import 'lazaret'` loads no other package. */
function cronOf(pattern: string): Cron {
  const croner = requireClient<typeof import('croner')>('croner', () => require('croner'))
  return new croner.Cron(pattern, { timezone: 'UTC', paused: true })
}

/** Starts a task at the times of a cron pattern. Its signal aborts when the schedule is closed, or another process has its turn. */
export function startSchedule(
  cron: string,
  options: ScheduleOptions,
  task: (signal: AbortSignal) => Promise<void>,
): Schedule {
  const stop = new AbortController()
  const ended = onSchedule(cron, options, stop.signal, task)
  return {
    async close() {
      stop.abort()
      await ended
    },
  }
}

/** Runs a task at the times of a cron pattern, one run after the other, until the signal aborts. */
async function onSchedule(
  cron: string,
  options: ScheduleOptions,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { clock, onError } = options
  const pattern = cronOf(cron)
  while (!signal.aborted) {
    const next = pattern.nextRun(new Date(clock.now()))?.getTime()
    if (next === undefined) return
    await waitUntil(next, clock, signal)
    if (signal.aborted) return
    await inTurn(options, next, signal, task).catch((error: unknown) => onError?.(error))
  }
}

/**
 * Clocks differ, but the due time does not: a later process finds the work done. While another process works on it, this one
 * stands by until the work is done or that process is gone.
 */
async function inTurn(
  { clock, turn: { ledger, what } }: ScheduleOptions,
  dueAt: number,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (ledger === undefined) return task(signal)
  const name = { handler: SCHEDULE, key: `${what} ${new Date(dueAt).toISOString()}` }
  while (!signal.aborted) {
    const answer = await claimLease(ledger, name, clock)
    if (answer.kind === 'done') return
    if (answer.kind === 'claimed') {
      const { lease } = answer
      try {
        await task(AbortSignal.any([signal, lease.lost]))
      } finally {
        // What a closing process leaves is for another one.
        await (signal.aborted ? lease.release() : lease.complete())
      }
      return
    }
    await sleep(clock, RENEW_MS, signal).catch(() => {})
  }
}

/** In steps, so that a clock that is set meanwhile is noticed, and no timer is longer than a timer may be. */
async function waitUntil(at: number, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && clock.now() < at)
    await sleep(clock, Math.min(MAX_TIMER_MS, at - clock.now()), signal).catch(() => {})
}
