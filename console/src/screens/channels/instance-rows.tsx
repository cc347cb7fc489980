import { useState } from 'react'
import { useChannelInstances } from '../../api/queries.ts'
import type { ChannelInstance } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { processName } from '../../lib/process-name.ts'
import { relative } from '../../lib/times.ts'
import { Button } from '../../ui/buttons.tsx'
import { ErrorNote, Loading } from '../../ui/notes.tsx'
import { HeldUp, NotConsuming, PausedTag } from '../../ui/pauses.tsx'
import { BreakerTag } from '../../ui/tags.tsx'
import { InstanceActions } from './consumer-actions.tsx'
import { BreakerDetails, Numbers } from './consumer-cells.tsx'

const COLUMNS = 8

interface InstanceRowsProps {
  readonly channel: string
  readonly handler: string
  readonly cursor?: string | undefined
}

/** A row for each living process that has the handler, page by page. Each page in sight is kept up to date. */
export function InstanceRows({ channel, handler, cursor }: InstanceRowsProps) {
  const { data, error, refetch } = useChannelInstances(channel, { handler, cursor })
  const [hasNext, setHasNext] = useState(false)
  return (
    <>
      {(error || data === undefined) && (
        <tr className="also">
          <td colSpan={COLUMNS}>
            {error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={2} />}
          </td>
        </tr>
      )}
      {data?.instances.map((instance, index) => (
        // A process that is not in the fleet has no id, and a process may have the handler twice.
        <InstanceRow key={JSON.stringify([instance.id, index])} channel={channel} instance={instance} />
      ))}
      {data?.cursor !== undefined &&
        (hasNext ? (
          <InstanceRows channel={channel} handler={handler} cursor={data.cursor} />
        ) : (
          <tr className="also">
            <td colSpan={COLUMNS}>
              <Button onPress={() => setHasNext(true)}>Show more processes</Button>
            </td>
          </tr>
        ))}
    </>
  )
}

function InstanceRow({ channel, instance }: { channel: string; instance: ChannelInstance }) {
  const { breaker, paused, stalled } = instance
  return (
    <tr className="also instance">
      <td className="title">
        <strong className="external-text">{processName(instance)}</strong>
        <div className="small quiet external-text">
          {aboutOf(instance)}
          <NotConsuming paused={paused} />
          <HeldUp stalled={stalled} />
        </div>
      </td>
      <td />
      <td data-name="Breaker">
        <BreakerTag state={breaker} />
        <BreakerDetails of={instance} />
        {paused.includes('manual') && <PausedTag />}
      </td>
      <Numbers of={instance} />
      <td className="actions">
        <InstanceActions channel={channel} instance={instance} />
      </td>
    </tr>
  )
}

/** The store measures the silence, so the clock of this machine does not matter. */
function aboutOf({ isLocal, service, version, release, broker, silentMs }: ChannelInstance): string {
  const facts = [
    ...(service === undefined ? [] : [service]),
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(release === undefined ? [] : [`release ${release}`]),
    `on ${broker}`,
    isLocal ? 'process of this server' : `last report ${relative(-silentMs, 0)}`,
  ]
  return plainText(facts.join(', '))
}
