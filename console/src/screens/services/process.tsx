import type { FleetInstance } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { usePreference, zone } from '../../lib/preferences.ts'
import { processName } from '../../lib/process-name.ts'
import { absolute, relative } from '../../lib/times.ts'
import { useIsFederated } from '../../lib/use-can.ts'
import { Tag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { partsOfInstance } from './service-view.ts'

/** A line about a process: its state, where it runs, what it runs, and since when. */
export function Process({ instance }: { instance: FleetInstance }) {
  const { state, version, release, store, startedAt } = instance
  const isFederated = useIsFederated()
  return (
    <div className="process-line">
      <StateTag state={state} />
      <strong className="external-text">{processName(instance)}</strong>
      {version !== undefined && <span className="external-text">version {plainText(version)}</span>}
      {release !== undefined && <span className="external-text">release {plainText(release)}</span>}
      {isFederated && <span className="quiet external-text">store {plainText(store)}</span>}
      <span className="quiet">
        <RelativeTime at={startedAt} prefix="started " />
      </span>
      <LastReport instance={instance} />
    </div>
  )
}

/** A process that does not work any more. Its breakers and rates are not true any more either. */
export function EndedProcess({ instance }: { instance: FleetInstance }) {
  const names = partsOfInstance(instance).map(({ name }) => plainText(name))
  return (
    <>
      <Process instance={instance} />
      {names.length > 0 && <div className="small quiet external-text">had {names.join(', ')}</div>}
    </>
  )
}

function StateTag({ state }: Pick<FleetInstance, 'state'>) {
  if (state === 'alive')
    return (
      <Tag tone="good" glyph="check">
        alive
      </Tag>
    )
  if (state === 'left')
    return (
      <Tag tone="idle" glyph="dash">
        left
      </Tag>
    )
  return (
    <Tag tone="signal" glyph="flag">
      gone
    </Tag>
  )
}

/** The store measures the silence, so the clock of this machine does not matter. */
function LastReport({ instance: { state, seenAt, silentMs } }: { instance: FleetInstance }) {
  const moment = absolute(Date.parse(seenAt), usePreference(zone))
  const ago = relative(-silentMs, 0)
  return (
    <time className="quiet" dateTime={seenAt} title={moment}>
      {state === 'left' ? 'left' : 'last report'} {state === 'alive' ? ago : `${moment}, ${ago}`}
    </time>
  )
}
