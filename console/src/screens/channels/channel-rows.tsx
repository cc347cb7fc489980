import { useState } from 'react'
import { Link } from 'wouter'
import type { Channel, ChannelConsumer } from '../../api/types.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Button } from '../../ui/buttons.tsx'
import { Sparkline } from '../../ui/charts.tsx'
import { Breakers, Paused } from '../../ui/part-states.tsx'
import { HeldUp, NotConsuming } from '../../ui/pauses.tsx'
import { ConsumerActions } from './consumer-actions.tsx'
import { BreakerDetails, Numbers } from './consumer-cells.tsx'
import { InstanceRows } from './instance-rows.tsx'

/** A channel: what arrives of it, and a line for each of its handlers. */
export function ChannelRows({ channel }: { channel: Channel }) {
  const [first, ...others] = channel.consumers
  if (first === undefined)
    return (
      <tbody>
        <tr>
          <td className="title">
            <ChannelName channel={channel} />
          </td>
          <td data-name="Letters, last hour">
            <Inflow channel={channel} />
          </td>
          <td colSpan={6} className="small quiet">
            No living process reports a consumer. <Link href="/services">Services</Link> shows the processes.
          </td>
        </tr>
      </tbody>
    )
  return (
    <tbody>
      <HandlerRows key={first.handler} channel={channel} consumer={first} isFirst />
      {others.map(consumer => (
        <HandlerRows key={consumer.handler} channel={channel} consumer={consumer} />
      ))}
    </tbody>
  )
}

interface HandlerRowsProps {
  readonly channel: Channel
  readonly consumer: ChannelConsumer
  readonly isFirst?: boolean
}

/** A handler: the sum over all living processes, and each process when asked. */
function HandlerRows({ channel, consumer, isFirst = false }: HandlerRowsProps) {
  const { handler, processes, isLocal, breakers, paused, stalled } = consumer
  const [isOpen, setOpen] = useState(false)
  const isHereAlone = isLocal && processes === 1
  const toggle = `${isOpen ? 'Hide' : 'Show'} ${counted(processes, 'process', 'processes')}`
  return (
    <>
      <tr className={isFirst ? undefined : 'also'}>
        <td className="title">
          {isFirst && <ChannelName channel={channel} />}
          <div className="small quiet external-text">
            {plainText(handler)}
            <NotConsuming paused={paused} />
            <HeldUp stalled={stalled} />
          </div>
          {!isHereAlone && (
            <Button
              look="quiet"
              label={`${toggle}: ${plainText(channel.channel)}, ${plainText(handler)}`}
              onPress={() => setOpen(!isOpen)}
            >
              {toggle}
            </Button>
          )}
        </td>
        <td data-name="Letters, last hour">{isFirst && <Inflow channel={channel} />}</td>
        <td data-name="Breaker">
          <Breakers of={breakers} />
          {isHereAlone && <BreakerDetails of={consumer} />}
          <Paused of={consumer} />
        </td>
        <Numbers of={consumer} />
        <td className="actions">
          <ConsumerActions channel={channel.channel} consumer={consumer} />
        </td>
      </tr>
      {isOpen && !isHereAlone && <InstanceRows channel={channel.channel} handler={handler} />}
    </>
  )
}

function ChannelName({ channel: { channel } }: { channel: Channel }) {
  return <strong className="external-text">{plainText(channel)}</strong>
}

function Inflow({ channel: { channel, inflow, letters } }: { channel: Channel }) {
  return (
    <>
      <Sparkline counts={inflow.perMinute} unit="minute" width={150} height={20} wide />
      <div className="small quiet">
        {whole(inflow.lastHour)} in the last hour ·{' '}
        <Link href={`/letters?${new URLSearchParams({ channel })}`}>{whole(letters.waiting)} waiting</Link>
      </div>
    </>
  )
}
