import { useState } from 'react'
import { forceBreaker, pauseConsumer, useChange } from '../../api/actions.ts'
import type { ChannelConsumer } from '../../api/types.ts'
import { useCan } from '../../lib/use-can.ts'
import { Button } from '../../ui/buttons.tsx'
import { AskReason } from '../../ui/dialog.tsx'

type Act = 'open' | 'closed' | 'auto' | 'pause' | 'resume'

const ASKS: Readonly<Record<Act, { title: string; verb: string; says: string }>> = {
  open: {
    title: 'Force the breaker open',
    verb: 'Force it open',
    says: 'No attempt goes through, and no probe either, until you let it decide by itself again.',
  },
  closed: {
    title: 'Force the breaker closed',
    verb: 'Force it closed',
    says: 'Every attempt goes through, however sick the dependency is, until you let it decide by itself again.',
  },
  auto: {
    title: 'Let the breaker decide by itself',
    verb: 'Let it decide',
    says: 'One that was forced open starts with probes; one that was forced closed goes on as closed.',
  },
  pause: {
    title: 'Pause this consumer',
    verb: 'Pause',
    says: 'It stops pulling. What it has in hand is finished; the rest waits in the broker.',
  },
  resume: { title: 'Let this consumer go on', verb: 'Go on', says: 'It pulls again from where it stopped.' },
}

export function ConsumerActions({ channel, consumer }: { channel: string; consumer: ChannelConsumer }) {
  const [asking, setAsking] = useState<Act>()
  const canForce = useCan('breaker.force')
  const canPause = useCan('consumer.pause')
  const canResume = useCan('consumer.resume')
  const { handler, breaker, paused } = consumer
  const change = useChange(({ act, reason }: { act: Act; reason: string }) =>
    act === 'pause' || act === 'resume'
      ? pauseConsumer(channel, act, { handler, reason })
      : forceBreaker(channel, { handler, to: act, reason }),
  )
  const isForced = breaker === 'forced-open' || breaker === 'forced-closed'
  return (
    <div className="row end">
      {breaker !== 'off' &&
        (isForced ? (
          <Button may={canForce} onPress={() => setAsking('auto')}>
            Reset
          </Button>
        ) : (
          <>
            {breaker !== 'closed' && (
              <Button may={canForce} onPress={() => setAsking('closed')}>
                Force closed
              </Button>
            )}
            <Button may={canForce} onPress={() => setAsking('open')}>
              Force open
            </Button>
          </>
        ))}
      {paused.includes('hand') ? (
        <Button look="main" may={canResume} onPress={() => setAsking('resume')}>
          Go on
        </Button>
      ) : (
        <Button may={canPause} onPress={() => setAsking('pause')}>
          Pause
        </Button>
      )}
      {asking && (
        <AskReason
          title={`${ASKS[asking].title}: ${handler}`}
          verb={ASKS[asking].verb}
          onClose={() => setAsking(undefined)}
          onAnswer={reason => change.mutateAsync({ act: asking, reason })}
        >
          <p>{ASKS[asking].says}</p>
        </AskReason>
      )}
    </div>
  )
}
