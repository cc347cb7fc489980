// What every store takes for the report of a process.
import { MAX_TIME_MS } from '../../core/event/uuid.ts'
import { group, resolveBy } from '../../core/options/resolve.ts'
import {
  custom,
  flag,
  integer,
  list,
  milliseconds,
  number,
  oneOf,
  optional,
  type Rule,
  type RulesFor,
  text,
} from '../../core/options/rules.ts'
import type { Instance, InstanceReport, ReportedConsumer, ReportedSink } from '../../ports/fleet.ts'

/** More than any process has. The report of one process stays small. */
const MAX_PARTS = 1_000
const MAX_PAUSES = 10
const MAX_LEASE_MS = 86_400_000

/** The rule for ids of instances and commands: every store can keep such a text as it is. */
export const instanceIdRule: Rule<string> = custom(
  (value): value is string => typeof value === 'string' && /^[\w.:-]{1,200}$/.test(value),
  "give an id of 1 to 200 letters, digits, '.', ':', '_' or '-'",
)

const count = integer({ min: 0 })
const time = integer({ min: 0, max: MAX_TIME_MS })
const breaker = oneOf('closed', 'open', 'half-open', 'forced-open', 'forced-closed', 'off')

const consumerRules: RulesFor<ReportedConsumer> = {
  channel: text(),
  handler: text(),
  broker: text(),
  breaker,
  paused: list(oneOf('breaker', 'store', 'ledger', 'manual'), { maxItems: MAX_PAUSES }),
  stalled: optional(list(oneOf('deliveries', 'settlements', 'letters'), { maxItems: MAX_PAUSES })),
  perMinute: number({ min: 0 }),
  failureRate: number({ min: 0, max: 1 }),
  active: count,
  waiting: count,
  lastProcessedAt: optional(time),
  lag: optional(count),
  hasSchema: optional(flag()),
}

const sinkRules: RulesFor<ReportedSink> = {
  name: text(),
  channel: optional(text()),
  breaker,
  buffered: count,
  inFlight: count,
  retrying: count,
  delivered: count,
  gaveUp: count,
  lastDeliveredAt: optional(time),
}

const reportRules: RulesFor<InstanceReport> = {
  v: custom((value): value is 1 => value === 1, 'give 1'),
  id: instanceIdRule,
  service: text({ maxLength: 200 }),
  version: optional(text({ maxLength: 200 })),
  release: optional(text({ maxLength: 200 })),
  host: text(),
  pid: count,
  startedAt: time,
  consumers: list(group(consumerRules), { maxItems: MAX_PARTS }),
  sinks: list(group(sinkRules), { maxItems: MAX_PARTS }),
}

const reportRule = group(reportRules)
const leaseRule = milliseconds({ above: true, max: MAX_LEASE_MS })

/** The row of a report: its id, the whole as JSON, and its lease. Throws an OptionsError for an invalid report. */
export function reportRow(
  report: InstanceReport,
  leaseMs: number,
): readonly [id: string, body: string, leaseMs: number] {
  const checked = resolveBy('report', reportRule, report)
  return [checked.id, JSON.stringify(checked), Math.ceil(resolveBy('leaseMs', leaseRule, leaseMs))]
}

/** What a store knows of a process. */
export interface InstanceRow {
  readonly body: string
  readonly seenAt: number
  readonly leaseMs: number
  readonly hasLeft: boolean
}

/**
 * The instances of these rows at a time of the store's clock, in the order of a list. A report that this version cannot read
 * is left out, because one process of another version must not hide all others.
 */
export function instancesOf(rows: readonly InstanceRow[], now: number): readonly Instance[] {
  return rows
    .flatMap((row): Instance[] => {
      const report = readReport(row.body)
      if (report === undefined) return []
      const state = row.hasLeft ? 'left' : isAlive(row, now) ? 'alive' : 'gone'
      return [{ report, state, seenAt: row.seenAt, silentMs: Math.max(0, now - row.seenAt) }]
    })
    .sort(
      (a, b) =>
        compare(a.report.service, b.report.service) ||
        a.report.startedAt - b.report.startedAt ||
        compare(a.report.id, b.report.id),
    )
}

/** Checks only what readers rely on: a list has thousands of reports, and `report` has checked the rest. */
function readReport(body: string): InstanceReport | undefined {
  try {
    const report = JSON.parse(body) as InstanceReport
    const { v, id, service, host, pid, startedAt, consumers, sinks } = report
    const isReadable =
      v === 1 &&
      areTexts(id, service, host) &&
      Number.isFinite(pid) &&
      Number.isFinite(startedAt) &&
      consumers.every(
        each => areTexts(each.channel, each.handler, each.broker, each.breaker) && Array.isArray(each.paused),
      ) &&
      sinks.every(each => areTexts(each.name, each.breaker))
    return isReadable ? report : undefined
  } catch {
    return undefined
  }
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every(value => typeof value === 'string')
}

/** A report from the future was made before the clock was set back: after the length of its lease it no longer counts. */
export function isAlive({ seenAt, leaseMs, hasLeft }: Omit<InstanceRow, 'body'>, now: number): boolean {
  return !hasLeft && Math.abs(now - seenAt) < leaseMs
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
