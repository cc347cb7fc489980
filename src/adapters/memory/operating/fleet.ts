import { type InstanceRow, instancesOf, isAlive, reportRow } from '../../../adapter-kit/fleet/check-report.ts'
import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Fleet } from '../../../ports/fleet.ts'

export function memoryFleet(open: OpenState, clock: Clock): Fleet {
  const rows = new Map<string, InstanceRow>()
  return {
    async report(report, leaseMs) {
      open.requireOpen()
      const [id, body, lease] = reportRow(report, leaseMs)
      rows.set(id, { body, seenAt: clock.now(), leaseMs: lease, hasLeft: false })
    },

    async leave(id) {
      open.requireOpen()
      const row = rows.get(id)
      if (row !== undefined && !row.hasLeft) rows.set(id, { ...row, seenAt: clock.now(), hasLeft: true })
    },

    async list() {
      open.requireOpen()
      return instancesOf([...rows.values()], clock.now())
    },

    async purge(before) {
      open.requireOpen()
      const [bound, now] = [resolvePurge(before), clock.now()]
      const past = [...rows].filter(([, row]) => row.seenAt < bound && !isAlive(row, now))
      for (const [id] of past) rows.delete(id)
      return past.length
    },
  }
}
