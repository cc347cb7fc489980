import { type InstanceRow, instancesOf, isAlive, reportRow } from '../../../adapter-kit/fleet/check-report.ts'
import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Fleet, Instance, InstanceReport } from '../../../ports/fleet.ts'

export class MemoryFleet implements Fleet {
  readonly #open: OpenState
  readonly #clock: Clock
  readonly #rows = new Map<string, InstanceRow>()

  constructor(open: OpenState, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async report(report: InstanceReport, leaseMs: number): Promise<void> {
    this.#open.requireOpen()
    const [id, body, lease] = reportRow(report, leaseMs)
    this.#rows.set(id, { body, seenAt: this.#clock.now(), leaseMs: lease, hasLeft: false })
  }

  async leave(id: string): Promise<void> {
    this.#open.requireOpen()
    const row = this.#rows.get(id)
    if (row !== undefined && !row.hasLeft)
      this.#rows.set(id, { ...row, seenAt: this.#clock.now(), hasLeft: true })
  }

  async list(): Promise<readonly Instance[]> {
    this.#open.requireOpen()
    return instancesOf([...this.#rows.values()], this.#clock.now())
  }

  async purge(before: number): Promise<number> {
    this.#open.requireOpen()
    const [bound, now] = [resolvePurge(before), this.#clock.now()]
    const past = [...this.#rows].filter(([, row]) => row.seenAt < bound && !isAlive(row, now))
    for (const [id] of past) this.#rows.delete(id)
    return past.length
  }
}
