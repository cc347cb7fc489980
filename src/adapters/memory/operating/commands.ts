import {
  type CommandRow,
  commandRecord,
  commandRows,
  isOver,
  outcomeText,
  resolveLimit,
} from '../../../adapter-kit/fleet/check-commands.ts'
import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Command, CommandOutcome, CommandRecord, Commands } from '../../../ports/commands.ts'

interface StoredCommand extends CommandRow {
  readonly request: string
  readonly recipients: readonly string[]
}

export class MemoryCommands implements Commands {
  readonly #open: OpenState
  readonly #clock: Clock
  /** In the order they were sent. */
  readonly #rows = new Map<string, StoredCommand>()
  readonly #listeners = new Map<() => void, string>()

  constructor(open: OpenState, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async send(commands: readonly Command[], ttlMs: number): Promise<void> {
    this.#open.requireOpen()
    const sentAt = this.#clock.now()
    const rows = commandRows(commands, ttlMs)
    for (const { id, ...row } of rows) if (!this.#rows.has(id)) this.#rows.set(id, { ...row, sentAt })
    const woken = new Set(rows.flatMap(({ recipients }) => recipients))
    for (const [listener, instance] of this.#listeners) if (woken.has(instance)) listener()
  }

  async claim(instance: string, limit: number): Promise<readonly Command[]> {
    this.#open.requireOpen()
    const [most, now] = [resolveLimit(limit), this.#clock.now()]
    const waiting = [...this.#rows].filter(
      ([, row]) => row.claimedBy === undefined && row.recipients.includes(instance),
    )
    // A command without recipients stays expired, even if the clock is set later.
    for (const [id, row] of waiting) if (isOver(row, now)) this.#rows.set(id, { ...row, recipients: [] })
    const due = waiting.filter(([, row]) => !isOver(row, now)).slice(0, most)
    for (const [id, row] of due) this.#rows.set(id, { ...row, claimedBy: instance, claimedAt: now })
    return due.map(([, { body }]) => JSON.parse(body) as Command)
  }

  async finish(id: string, instance: string, outcome: CommandOutcome): Promise<boolean> {
    this.#open.requireOpen()
    const text = outcomeText(outcome)
    const row = this.#rows.get(id)
    if (row?.claimedBy !== instance || row.outcome !== undefined) return false
    this.#rows.set(id, { ...row, endedAt: this.#clock.now(), outcome: text })
    return true
  }

  async get(request: string): Promise<readonly CommandRecord[]> {
    this.#open.requireOpen()
    const now = this.#clock.now()
    return [...this.#rows.values()].filter(row => row.request === request).map(row => commandRecord(row, now))
  }

  async list(limit: number): Promise<readonly CommandRecord[]> {
    this.#open.requireOpen()
    const [most, now] = [resolveLimit(limit), this.#clock.now()]
    return [...this.#rows.values()]
      .reverse()
      .slice(0, most)
      .map(row => commandRecord(row, now))
  }

  async purge(before: number): Promise<number> {
    this.#open.requireOpen()
    const [bound, now] = [resolvePurge(before), this.#clock.now()]
    const past = [...this.#rows].filter(
      ([, row]) => row.sentAt < bound && (row.outcome !== undefined || isOver(row, now)),
    )
    for (const [id] of past) this.#rows.delete(id)
    return past.length
  }

  onCommand(instance: string, listener: () => void): () => void {
    this.#open.requireOpen()
    const own = () => listener()
    this.#listeners.set(own, instance)
    return () => void this.#listeners.delete(own)
  }
}
