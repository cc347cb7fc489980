import { forceBreaker, pauseConsumer, useChange } from '../../api/actions.ts'
import type { ChannelConsumer } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useCan } from '../../lib/use-can.ts'
import { type PartAct, PartActions } from '../../ui/part-actions.tsx'

export function ConsumerActions({ channel, consumer }: { channel: string; consumer: ChannelConsumer }) {
  const canForce = useCan('breaker.force')
  const canPause = useCan('consumer.pause')
  const canResume = useCan('consumer.resume')
  const { handler, breaker, paused } = consumer
  const change = useChange(({ act, reason }: { act: PartAct; reason: string }) =>
    act === 'pause' || act === 'resume'
      ? pauseConsumer(channel, act, { handler, reason })
      : forceBreaker(channel, { handler, to: act, reason }),
  )
  return (
    <PartActions
      name={plainText(handler)}
      breakers={[breaker]}
      paused={[paused.includes('manual')]}
      may={act => (act === 'pause' ? canPause : act === 'resume' ? canResume : canForce)}
      onAct={(act, reason) => change.mutateAsync({ act, reason })}
    />
  )
}
