import type { DatabaseSync } from 'node:sqlite'
import type { TimelineSpan } from '../../../ports/dead-letters.ts'
import { all } from '../connection/rows.ts'
import type { FacetRow, Span } from './letter-places.ts'

/** Letters by time, counted on the index alone. */
export class TimelineReader {
  readonly #count

  constructor(db: DatabaseSync) {
    this.#count = db.prepare(
      `select cast((l.at - ?) / ? as integer) as bucket, count(*) as count
       from json_each(?) f cross join letters l indexed by letters_by_facet
       where l.facet = f.value and l.at >= ? and l.at < ? group by bucket`,
    )
  }

  read(facets: readonly FacetRow[], { after, before }: Span, span: TimelineSpan): readonly number[] {
    const { from, bucketMs, buckets } = span
    const counts = new Array<number>(buckets).fill(0)
    const bucketOf = (at: number) => Math.floor((at - from) / bucketMs)
    const spread: number[] = []
    for (const { id, count, oldest_at: oldest, last_at: latest } of facets) {
      if (latest < after || oldest >= before) continue
      const bucket = bucketOf(oldest)
      // A facet that lies in one bucket whole is counted already.
      if (oldest >= after && latest < before && bucket === bucketOf(latest)) counts[bucket]! += count
      else spread.push(id)
    }
    if (spread.length === 0) return counts
    const rows = all<Bucket>(this.#count, from, bucketMs, JSON.stringify(spread), after, before)
    for (const { bucket, count } of rows) counts[bucket]! += count
    return counts
  }
}

interface Bucket {
  readonly bucket: number
  readonly count: number
}
