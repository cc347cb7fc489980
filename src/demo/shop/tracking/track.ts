import type { Dispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import type { TrackInput } from '../../../runtime/dispatcher/track/track-input.ts'
import { asJob } from '../../../runtime/dispatcher/track/tracking-mode.ts'

/** Tracks an event and continues: a customer does not wait for analytics, and analytics cannot fail the purchase. */
export type Track = (input: TrackInput) => void

export function tracking(dispatcher: Dispatcher): Track {
  return input => void dispatcher.track(input, { wait: 'accepted', onFailure: 'swallow' })
}

const STOCK_REPORT = 'StockReport'

/** A background job. The job succeeds even if no sink accepts its report. */
export function stockReport(track: Track, id: string, at: number): void {
  asJob(STOCK_REPORT, () => {
    track({ type: 'report.made', id, occurredAt: at, payload: { report: 'stock', articles: 1_284, low: 17 } })
  })
}
