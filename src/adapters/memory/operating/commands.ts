import {
  type CommandRow,
  commandRecords,
  commandRows,
  commandsOf,
  isOver,
  newlyOver,
  outcomeText,
  resolveLimit,
} from '../../../adapter-kit/fleet/check-commands.ts'
import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Commands } from '../../../ports/commands.ts'

interface StoredCommand extends CommandRow {
  readonly request: string
  readonly recipients: readonly string[]
  endedAt?: number
}

export function memoryCommands(open: OpenState, clock: Clock): Commands {
  /** In the order they were sent. */
  const rows = new Map<string, StoredCommand>()
  const listeners = new Map<() => void, string>()

  /** Commands that are over stay so, whatever happens to the clock. */
  const keepOver = (found: readonly StoredCommand[], now: number) => {
    for (const row of newlyOver(found, now)) row.endedAt = now
  }

  const recordsOf = (found: readonly StoredCommand[]) => {
    const now = clock.now()
    keepOver(found, now)
    return commandRecords(found, now)
  }

  return {
    async send(commands, ttlMs) {
      open.requireOpen()
      const sentAt = clock.now()
      const sent = commandRows(commands, ttlMs)
      for (const { id, ...row } of sent) if (!rows.has(id)) rows.set(id, { ...row, sentAt })
      const woken = new Set(sent.flatMap(({ recipients }) => recipients))
      for (const [listener, instance] of listeners) if (woken.has(instance)) listener()
    },

    async claim(instance, limit) {
      open.requireOpen()
      const [most, now] = [resolveLimit(limit), clock.now()]
      const waiting = [...rows].filter(
        ([, row]) => row.claimedBy === undefined && row.recipients.includes(instance),
      )
      const found = waiting.map(([, row]) => row)
      keepOver(found, now)
      const due = waiting.filter(([, row]) => !isOver(row, now)).slice(0, most)
      for (const [id, row] of due) rows.set(id, { ...row, claimedBy: instance, claimedAt: now })
      return commandsOf(due.map(([, { body }]) => body))
    },

    async finish(id, instance, outcome) {
      open.requireOpen()
      const text = outcomeText(outcome)
      const row = rows.get(id)
      if (row?.claimedBy !== instance || row.outcome !== undefined) return false
      rows.set(id, { ...row, endedAt: clock.now(), outcome: text })
      return true
    },

    async get(request) {
      open.requireOpen()
      return recordsOf([...rows.values()].filter(row => row.request === request))
    },

    async list(limit) {
      open.requireOpen()
      const most = resolveLimit(limit)
      return recordsOf([...rows.values()].reverse().slice(0, most))
    },

    async purge(before) {
      open.requireOpen()
      const [bound, now] = [resolvePurge(before), clock.now()]
      const past = [...rows].filter(([, row]) => row.sentAt < bound && isOver(row, now))
      for (const [id] of past) rows.delete(id)
      return past.length
    },

    onCommand(instance, listener) {
      open.requireOpen()
      const own = () => listener()
      listeners.set(own, instance)
      return () => void listeners.delete(own)
    },
  }
}
