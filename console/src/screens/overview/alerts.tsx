import { Link } from 'wouter'
import type { ChannelAlert } from '../../api/types.ts'
import { ALERT_NAMES, alertPath, alertWords } from '../../lib/alert-words.ts'
import { whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useIsFederated } from '../../lib/use-can.ts'
import { Tag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'

/** More are a sign of something larger, and stand with their channels. */
const MOST_SHOWN = 8

/** Channels that are beyond a limit, each leading to what is to be looked at. */
export function Alerts({ alerts }: { alerts: readonly ChannelAlert[] }) {
  const isFederated = useIsFederated()
  if (alerts.length === 0)
    return <p className="quiet small">No alerts. Every channel is within its limits.</p>
  return (
    <ul className="stack">
      {alerts.slice(0, MOST_SHOWN).map(alert => (
        <li key={`${alert.store} ${alert.channel} ${alert.rule} ${alert.error?.fingerprint}`}>
          <div className="row">
            <Link href={alertPath(alert)} className="row-link clip external-text">
              {plainText(alert.channel)}
            </Link>
            <span className="push">
              <Tag tone="signal" glyph="flag">
                {ALERT_NAMES[alert.rule]}
              </Tag>
            </span>
          </div>
          <div className="quiet small external-text">
            {plainText(alertWords(alert))} · <RelativeTime at={alert.since} prefix="since " />
            {isFederated && ` · ${alert.store}`}
          </div>
        </li>
      ))}
      {alerts.length > MOST_SHOWN && (
        <li className="quiet small">and {whole(alerts.length - MOST_SHOWN)} more</li>
      )}
    </ul>
  )
}
