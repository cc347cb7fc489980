import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import type { Cancel } from '../../../ports/clock.ts'
import type { Link } from './link.ts'

/** A connection that is back within this time is not a stall. */
const REPORT_AFTER_MS = 1_000

/** Reports to a subscriber that the server cannot be reached. Returns what ends this. */
export function reportOutages(link: Pick<Link, 'clock' | 'onUp' | 'onDown'>, stalls: StallReporter): Cancel {
  const outage = {}
  let cancelReport: Cancel = () => {}
  const end = () => {
    cancelReport()
    stalls.ended('deliveries', outage)
  }
  const stopListening = [
    link.onUp(end),
    link.onDown(error => {
      cancelReport = link.clock.schedule(REPORT_AFTER_MS, () => stalls.stalled('deliveries', outage, error))
    }),
  ]
  return () => {
    for (const stop of stopListening) stop()
    end()
  }
}
