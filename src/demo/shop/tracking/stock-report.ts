import { asJob } from '../../../runtime/dispatcher/track/tracking-mode.ts'
import type { Track } from './track.ts'

const STOCK_REPORT = 'StockReport'

/** A background job: it is done when the report is written, whether or not anybody could be told of it. */
export function stockReport(track: Track, id: string, at: number): void {
  asJob(STOCK_REPORT, () => {
    track({ type: 'report.made', id, occurredAt: at, payload: { report: 'stock', articles: 1_284, low: 17 } })
  })
}
