import { AsyncLocalStorage } from 'node:async_hooks'
import { catchRejection } from '../../core/promise-like.ts'
import type { Cancel, Clock } from '../../ports/clock.ts'
import type { LogFields, Logger, LogLevel } from '../../ports/logger.ts'
import { inOwnContext, isOwnContext } from '../dispatcher/track/own-context.ts'

/** A line for something that may happen thousands of times in a second: one line at first, then one in each interval. */
export interface AggregatedLine extends LogLine {
  /** Written when an interval has passed without it. */
  readonly ended?: LogLine | undefined
}

/** The fields by which lines are aggregated. The number of their combinations is bounded. */
export type AggregatedBy = Readonly<Record<string, string | undefined>>

interface LogAggregatorSetup {
  readonly logger: Logger
  readonly clock: Clock
  readonly repeatMs: number
  /** The number of combinations of fields for each kind of line. Lines beyond that are aggregated as OTHER. */
  readonly maxAggregated: number
}

const OTHER = '(other)'
/** Masking the texts of an error takes long, so that they are read once in this time. */
const READ_EVERY_MS = 1_000

interface RepeatedLine {
  readonly line: AggregatedLine
  readonly by: AggregatedBy
  total: number
  untold: number
  latest: LogFields
  /** When `latest` was read. */
  readAt: number
  isOwn: boolean
  cancel: Cancel
}

/**
 * Aggregates lines that would be too many. The first is written at once with `count: 1`. The next ones are counted, and one
 * line with their number is written at the end of each interval. So the counts of all lines add up to the total.
 */
export class LogAggregator {
  readonly #setup: LogAggregatorSetup
  readonly #byKind = new Map<string, Map<string, RepeatedLine>>()
  /** Lines of an interval belong to no request, so they are not written in the async context of the first occurrence. */
  readonly #outside = AsyncLocalStorage.snapshot()

  constructor(setup: LogAggregatorSetup) {
    this.#setup = setup
  }

  /** `read` returns the other fields. It is called at once or not at all, because an event may change later. */
  tell(line: AggregatedLine, by: AggregatedBy, read: () => LogFields = () => ({})): void {
    const gathered = this.#byKind.get(line.what) ?? new Map<string, RepeatedLine>()
    this.#byKind.set(line.what, gathered)
    const own = gathered.get(keyOf(by))
    const isFull = own === undefined && gathered.size >= this.#setup.maxAggregated
    const group = isFull ? asOther(by) : by
    const gathering = isFull ? gathered.get(keyOf(group)) : own
    const isOwn = isOwnContext()
    const now = this.#setup.clock.now()
    if (gathering !== undefined) {
      gathering.total++
      gathering.untold++
      if (Math.abs(now - gathering.readAt) >= READ_EVERY_MS || gathering.untold === 1) {
        gathering.latest = read()
        gathering.readAt = now
      }
      gathering.isOwn ||= isOwn
      return
    }
    const latest = read()
    writeLine(this.#setup.logger, line, { ...group, ...latest, count: 1 })
    const cancel = () => {}
    const first: RepeatedLine = {
      ...{ line, by: group, total: 1, untold: 0, latest, readAt: now, isOwn, cancel },
    }
    gathered.set(keyOf(group), first)
    this.#wait(gathered, first)
  }

  /** Writes the counts that are not written yet. */
  flush(): void {
    const all = [...this.#byKind.values()].flatMap(gathered => [...gathered.values()])
    this.#byKind.clear()
    for (const gathering of all) {
      gathering.cancel()
      if (gathering.untold > 0) this.#write(gathering)
    }
  }

  #wait(gathered: Map<string, RepeatedLine>, gathering: RepeatedLine): void {
    const { clock, repeatMs } = this.#setup
    gathering.cancel = clock.schedule(repeatMs, () => {
      if (gathering.untold > 0) {
        this.#write(gathering)
        this.#wait(gathered, gathering)
      } else {
        const { line, by, total } = gathering
        gathered.delete(keyOf(by))
        if (line.ended !== undefined) this.#writeApart(gathering, line.ended, { ...by, total })
      }
    })
  }

  #write(gathering: RepeatedLine): void {
    const { line, by, latest, untold: count, total } = gathering
    gathering.untold = 0
    this.#writeApart(gathering, line, { ...by, ...latest, count, total })
  }

  /** Lines about a dispatcher stay marked as its own; otherwise they would be tracked as events again. */
  #writeApart({ isOwn }: RepeatedLine, line: LogLine, fields: LogFields): void {
    const write = () => writeLine(this.#setup.logger, line, fields)
    this.#outside(isOwn ? () => inOwnContext(write) : write)
  }
}

function keyOf(by: AggregatedBy): string {
  return JSON.stringify(Object.values(by))
}

function asOther(by: AggregatedBy): AggregatedBy {
  return Object.fromEntries(Object.keys(by).map(name => [name, OTHER]))
}

/** One line of a log. `what` is its name, which stays as it is; the message is for people. */
export interface LogLine {
  readonly what: string
  readonly level: LogLevel
  readonly message: string
}

/** Errors of the logger are ignored, because there is no other place to report them. */
export function writeLine(logger: Logger, { what, level, message }: LogLine, fields: LogFields): void {
  try {
    catchRejection(logger[level]({ what, ...fields }, message))
  } catch {
    // The work that the line is about must not fail.
  }
}
