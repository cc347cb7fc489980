import type { ChannelSnapshot, ErrorShare } from '../../ports/snapshots.ts'

export type Point = Pick<ChannelSnapshot, 'at' | 'depth' | 'overAge' | 'averageRetries' | 'oldestAt'>

/**
 * Adds the snapshots of several stores. At each time of a snapshot it adds the latest snapshot of each store. The series
 * begins when all stores have a snapshot, because a store that joins later would look like a rise.
 */
export function sumSnapshots(stores: readonly (readonly ChannelSnapshot[])[]): readonly Point[] {
  const known = stores.filter(snapshots => snapshots.length > 0)
  const [only] = known
  if (only === undefined || known.length === 1) return only ?? []
  const begin = Math.max(...known.map(([first]) => first!.at))
  const times = [...new Set(known.flat().map(({ at }) => at))].sort((a, b) => a - b)
  const places = known.map(() => 0)
  return times
    .filter(at => at >= begin)
    .map(at => {
      const then = known.map((snapshots, index) => {
        while ((snapshots[places[index]! + 1]?.at ?? Number.POSITIVE_INFINITY) <= at) places[index]!++
        return snapshots[places[index]!]!
      })
      return { ...mergeSnapshots(then), at }
    })
}

/** Adds the latest snapshots of one channel in several stores. */
export function mergeSnapshots([first, ...others]: readonly ChannelSnapshot[]): ChannelSnapshot {
  return others.reduce(addSnapshots, first!)
}

function addSnapshots(a: ChannelSnapshot, b: ChannelSnapshot): ChannelSnapshot {
  const sampled = a.sampled + b.sampled
  const retries = a.averageRetries * a.sampled + b.averageRetries * b.sampled
  return {
    v: 1,
    channel: a.channel,
    at: Math.max(a.at, b.at),
    depth: a.depth + b.depth,
    oldestAt: earlier(a.oldestAt, b.oldestAt),
    overAge: a.overAge + b.overAge,
    averageRetries: sampled === 0 ? 0 : Math.round((retries / sampled) * 100) / 100,
    sampled,
    errors: addErrors(a.errors, b.errors),
  }
}

function addErrors(a: readonly ErrorShare[], b: readonly ErrorShare[]): readonly ErrorShare[] {
  const sums = new Map<string, ErrorShare>()
  for (const error of [...a, ...b]) {
    const count = (sums.get(error.fingerprint)?.count ?? 0) + error.count
    sums.set(error.fingerprint, { ...error, count })
  }
  return [...sums.values()].sort((x, y) => y.count - x.count)
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}

/** Reduces the points of a chart. It keeps the highest point of each equal interval, so that no peak is lost, and the last. */
export function downsample(points: readonly Point[], most: number): readonly Point[] {
  const first = points[0]
  const last = points.at(-1)
  if (first === undefined || last === undefined || points.length <= most) return points
  const stretchMs = (last.at - first.at) / (most - 1)
  const highest = new Map<number, Point>()
  for (const point of points.slice(0, -1)) {
    const stretch = Math.min(most - 2, Math.floor((point.at - first.at) / stretchMs))
    const known = highest.get(stretch)
    if (known === undefined || point.depth > known.depth) highest.set(stretch, point)
  }
  return [...highest.values(), last]
}
