import type { WatchPolicy } from './options.ts'

type AlertRule = 'depth' | 'age' | 'dominance' | 'rate'

/** The values of a channel at one moment that are compared with limits. */
export interface Measured {
  readonly at: number
  readonly depth: number
  readonly oldestAt?: number | undefined
  /** Letters that failed within the hour before. Undefined if they were not counted. */
  readonly failedInLastHour?: number | undefined
  readonly sampled: number
  readonly errors: readonly { readonly fingerprint: string; readonly name: string; readonly count: number }[]
}

type Limits = Pick<WatchPolicy, 'depth' | 'ageMs' | 'dominance' | 'dominanceOver' | 'calmAfter'> & {
  readonly ratePerHour?: number | undefined
}

/** A limit that is crossed, as it stands at a moment. */
interface Reading {
  readonly rule: AlertRule
  /** Letters, milliseconds, a share or letters within an hour, by the rule. */
  readonly value: number
  readonly limit: number
  /** Of a dominant error: which one. */
  readonly error?: { readonly fingerprint: string; readonly name: string } | undefined
}

export interface Alert extends Reading {
  /** The first moment it was seen of which what was handed in tells. */
  readonly since: number
  /** What was handed in ends before this does: it may have begun earlier. */
  readonly isOlder: boolean
}

/** Two dominant errors are two alerts. */
export function alertKey({ rule, error }: Pick<Reading, 'rule' | 'error'>): string {
  return error === undefined ? rule : `${rule} ${error.fingerprint}`
}

/** Every limit that is crossed at this moment: more than it, never just as much. */
export function crossings(measured: Measured, limits: Limits): readonly Reading[] {
  const { depth, sampled, errors, failedInLastHour = 0 } = measured
  const crossed: Reading[] = []
  if (depth > limits.depth) crossed.push({ rule: 'depth', value: depth, limit: limits.depth })
  if (ageOf(measured) > limits.ageMs)
    crossed.push({ rule: 'age', value: ageOf(measured), limit: limits.ageMs })
  if (limits.ratePerHour !== undefined && failedInLastHour > limits.ratePerHour)
    crossed.push({ rule: 'rate', value: failedInLastHour, limit: limits.ratePerHour })
  if (sampled > limits.dominanceOver)
    for (const { fingerprint, name, count } of errors)
      if (count / sampled > limits.dominance)
        crossed.push({
          rule: 'dominance',
          value: count / sampled,
          limit: limits.dominance,
          error: { fingerprint, name },
        })
  return crossed
}

/**
 * The alerts that are open after these snapshots, newest first. An alert begins with the first snapshot over its limit, and
 * ends after `calmAfter` consecutive snapshots within it. So a value that swings around a limit raises one alert, not many.
 * Only the snapshots decide, so every server knows which alerts were sent, also after a restart.
 */
export function alertsOf(newestFirst: readonly Measured[], limits: Limits): readonly Alert[] {
  const [newest] = newestFirst
  if (newest === undefined) return []
  const crossed = newestFirst.map(
    measured => new Map(crossings(measured, limits).map(reading => [alertKey(reading), reading])),
  )
  const standing = new Map(
    crossed
      .slice(0, limits.calmAfter)
      .flatMap(readings => [...readings])
      .toReversed(),
  )
  return [...standing].map(([key, reading]) => {
    const firstIndex = beginningOf(
      crossed.map(readings => readings.has(key)),
      limits.calmAfter,
    )
    return {
      ...reading,
      value: valueNow(newest, reading),
      since: newestFirst[firstIndex]!.at,
      isOlder: newestFirst.length - firstIndex <= limits.calmAfter,
    }
  })
}

/** Backwards from now to the earliest that is not parted from what came later by a calm. */
function beginningOf(isCrossed: readonly boolean[], calmAfter: number): number {
  let first = isCrossed.indexOf(true)
  for (let index = first + 1; index < isCrossed.length && index - first <= calmAfter; index++)
    if (isCrossed[index]) first = index
  return first
}

/** As it is by now, be it within the limit again. */
export function valueNow(measured: Measured, { rule, error }: Pick<Reading, 'rule' | 'error'>): number {
  if (rule === 'depth') return measured.depth
  if (rule === 'age') return ageOf(measured)
  if (rule === 'rate') return measured.failedInLastHour ?? 0
  const found = measured.errors.find(({ fingerprint }) => fingerprint === error?.fingerprint)
  return found === undefined || measured.sampled === 0 ? 0 : found.count / measured.sampled
}

/** A clock that was set back makes nothing younger than nothing. */
function ageOf({ at, oldestAt }: Measured): number {
  return oldestAt === undefined ? 0 : Math.max(0, at - oldestAt)
}
