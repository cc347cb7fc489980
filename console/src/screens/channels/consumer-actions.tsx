import { commandFleet, forceBreaker, pauseConsumer, useChange } from '../../api/actions.ts'
import type { ChannelConsumer, ChannelInstance } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { processName } from '../../lib/process-name.ts'
import { useCan } from '../../lib/use-can.ts'
import { useRequests } from '../../lib/use-requests.ts'
import { type PartAct, PartActions } from '../../ui/part-actions.tsx'
import { pausesOf } from '../../ui/part-states.tsx'

/** The actions on a handler in all living processes: its own the server changes itself, the others get a command. */
export function ConsumerActions({ channel, consumer }: { channel: string; consumer: ChannelConsumer }) {
  const { handler, breakers, processes, isLocal } = consumer
  const may = useMay()
  const { add } = useRequests()
  const change = useChange(async ({ act, reason }: { act: PartAct; reason: string }) => {
    const { requests } =
      act === 'pause' || act === 'resume'
        ? await pauseConsumer(channel, act, { handler, reason })
        : await forceBreaker(channel, { handler, to: act, reason })
    add(requests.map(({ id }) => id))
  })
  const isHereAlone = isLocal && processes === 1
  return (
    <PartActions<never>
      name={plainText(handler)}
      where={isHereAlone ? undefined : counted(processes, 'living process', 'living processes')}
      breakers={breakers.map(({ state }) => state)}
      paused={pausesOf(consumer)}
      may={may}
      onAct={(act, reason) => change.mutateAsync({ act, reason })}
    />
  )
}

/** The actions on a handler in one process. */
export function InstanceActions({ channel, instance }: { channel: string; instance: ChannelInstance }) {
  const { handler, breaker, paused, isLocal, id, store } = instance
  const may = useMay()
  const { add } = useRequests()
  const change = useChange(async ({ act, reason }: { act: PartAct; reason: string }) => {
    const isPause = act === 'pause' || act === 'resume'
    const task = isPause ? ({ task: act } as const) : ({ task: 'breaker', to: act } as const)
    if (!isLocal) {
      const sent = await commandFleet({ ...task, channel, handler, instance: id, store, reason })
      add(sent.requests.map(each => each.id))
    } else if (isPause) await pauseConsumer(channel, act, { handler, reason, processes: 'own' })
    else await forceBreaker(channel, { handler, to: act, reason, processes: 'own' })
  })
  return (
    <PartActions<never>
      name={plainText(handler)}
      where={processName(instance)}
      breakers={[breaker]}
      paused={[paused.includes('manual')]}
      may={may}
      onAct={(act, reason) => change.mutateAsync({ act, reason })}
    />
  )
}

function useMay() {
  const canForce = useCan('breaker.force')
  const canPause = useCan('consumer.pause')
  const canResume = useCan('consumer.resume')
  return (act: PartAct) => (act === 'pause' ? canPause : act === 'resume' ? canResume : canForce)
}
