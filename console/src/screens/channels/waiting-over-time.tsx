import { Link } from 'wouter'
import { useChannelTrend } from '../../api/queries.ts'
import type { Channel, ChannelWatch } from '../../api/types.ts'
import { ALERT_NAMES, alertPath, alertWords } from '../../lib/alert-words.ts'
import { counted, percent, whole } from '../../lib/numbers.ts'
import { groupPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { DepthArea, TrendTag } from '../../ui/area.tsx'
import { Panel } from '../../ui/page.tsx'
import { Tag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import './waiting-over-time.css'

/** Each is asked for by itself, so only those with the most letters are drawn. */
const MOST_DRAWN = 12

type Watched = Channel & { readonly watch: ChannelWatch }

/** How much waits in each channel, since yesterday, and of what. */
export function WaitingOverTime({ channels }: { channels: readonly Channel[] }) {
  const watched = channels.filter((each): each is Watched => each.watch !== undefined)
  if (watched.length === 0) return null
  const left = watched.length - MOST_DRAWN
  return (
    <Panel title="Waiting letters, last 24 hours" bare>
      <ul className="watches">
        {watched.slice(0, MOST_DRAWN).map(channel => (
          <ChannelCard key={channel.channel} channel={channel} />
        ))}
      </ul>
      {left > 0 && (
        <p className="watches-left small quiet">and {counted(left, 'channel')} with fewer waiting letters</p>
      )}
    </Panel>
  )
}

function ChannelCard({ channel: { channel, watch } }: { channel: Watched }) {
  const { data } = useChannelTrend(channel, watch.at)
  const points = data?.points.map(({ at, depth }) => ({ at: Date.parse(at), value: depth })) ?? []
  return (
    <li className="watch">
      <div className="row">
        <h3 className="external-text clip">{plainText(channel)}</h3>
        <span className="push">
          <TrendTag trend={watch.trend} />
        </span>
      </div>
      <DepthArea points={points} over="over 24 hours" />
      <dl className="watch-facts">
        <Fact name="Waiting">{whole(watch.depth)}</Fact>
        <Fact name="Oldest">{watch.oldestAt ? <RelativeTime at={watch.oldestAt} /> : 'None'}</Fact>
        <Fact name="Over age limit">{whole(watch.overAge)}</Fact>
        <Fact name="Retries">{watch.sampled === 0 ? '–' : `${watch.averageRetries} on average`}</Fact>
      </dl>
      <Errors watch={watch} />
      {watch.alerts.map(alert => (
        <Link
          key={`${alert.store} ${alert.rule} ${alert.error?.fingerprint}`}
          href={alertPath(alert)}
          className="watch-alert"
        >
          <Tag tone="signal" glyph="flag">
            {ALERT_NAMES[alert.rule]}
          </Tag>{' '}
          <span className="small external-text">{plainText(alertWords(alert))}</span>
        </Link>
      ))}
    </li>
  )
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt className="small quiet">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Errors({ watch: { errors, sampled, depth } }: { watch: ChannelWatch }) {
  if (errors.length === 0) return null
  return (
    <ul className="watch-errors small">
      {errors.map(({ fingerprint, name, share }) => (
        <li key={fingerprint}>
          <Link href={groupPath(fingerprint)} className="external-text clip">
            {plainText(name)}
          </Link>
          <span className="number">{percent(share)}</span>
        </li>
      ))}
      {sampled < depth && <li className="quiet">among the newest {whole(sampled)} letters</li>}
    </ul>
  )
}
