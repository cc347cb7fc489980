import { useState } from 'react'
import { forceBreaker, pauseConsumer, useChange } from '../../api/actions.ts'
import type { ChannelConsumer } from '../../api/types.ts'
import { useCan } from '../../lib/use-can.ts'
import { Button } from '../../ui/buttons.tsx'
import { AskReason } from '../../ui/dialog.tsx'

type Act = 'open' | 'closed' | 'auto' | 'pause' | 'resume'

const ASKS: Readonly<Record<Act, { title: string; verb: string; keep: string; says: string }>> = {
  open: {
    title: 'Force breaker open',
    verb: 'Force breaker open',
    keep: 'Keep automatic',
    says: 'No attempts and no probes go through until you reset the breaker.',
  },
  closed: {
    title: 'Force breaker closed',
    verb: 'Force breaker closed',
    keep: 'Keep automatic',
    says: 'All attempts go through, even if the dependency is failing, until you reset the breaker.',
  },
  auto: {
    title: 'Reset breaker',
    verb: 'Reset breaker',
    keep: 'Keep forced',
    says: 'The breaker opens and closes automatically again. After being forced open it starts with probes; after being forced closed it stays closed.',
  },
  pause: {
    title: 'Pause consumer',
    verb: 'Pause consumer',
    keep: 'Keep running',
    says: 'The consumer stops pulling. Events in progress are finished; the rest wait in the broker.',
  },
  resume: {
    title: 'Resume consumer',
    verb: 'Resume consumer',
    keep: 'Keep paused',
    says: 'The consumer continues from where it stopped.',
  },
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
            Reset breaker
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
      {paused.includes('manual') ? (
        <Button look="main" may={canResume} onPress={() => setAsking('resume')}>
          Resume
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
          keep={ASKS[asking].keep}
          onClose={() => setAsking(undefined)}
          onAnswer={reason => change.mutateAsync({ act: asking, reason })}
        >
          <p>{ASKS[asking].says}</p>
        </AskReason>
      )}
    </div>
  )
}
