import { commandFleet, useChange } from '../../api/actions.ts'
import { ApiProblem } from '../../api/client.ts'
import type { CommandBody } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useCan } from '../../lib/use-can.ts'
import { useRequests } from '../../lib/use-requests.ts'
import { type AskingAct, type PartAct, PartActions } from '../../ui/part-actions.tsx'
import { pausesOf } from '../../ui/part-states.tsx'
import type { Part } from './service-view.ts'

/** The processes that a command goes to. */
export type Recipients = Pick<CommandBody, 'instance' | 'service' | 'store'>

export function FleetActions({ part, to, where }: { part: Part; to: Recipients; where: string }) {
  const may = useCan('fleet.command')
  const { add } = useRequests()
  const change = useChange(async ({ act, reason }: { act: PartAct | AskingAct; reason: string }) => {
    const { requests, faults = [] } = await commandFleet({ ...bodyOf(part, act), ...to, reason })
    add(requests.map(({ id }) => id))
    if (faults.length > 0)
      throw new ApiProblem({
        status: 503,
        title: 'Some processes did not get the command',
        detail: faults.map(({ store, problem }) => `Store ${store} did not respond: ${problem}.`).join(' '),
      })
  })
  return (
    <PartActions
      name={partName(part)}
      where={where}
      breakers={part.breakers.map(({ state }) => state)}
      paused={part.kind === 'sink' ? [] : pausesOf(part)}
      more={moreOf(part)}
      may={() => may}
      onAct={(act, reason) => change.mutateAsync({ act, reason })}
    />
  )
}

function partName({ name, handler }: Part): string {
  return plainText(handler === undefined ? name : `${name}, ${handler}`)
}

function moreOf({ kind, hasSchema }: Part): readonly AskingAct[] {
  if (kind === 'sink') return ['probe', 'resend']
  return hasSchema ? ['probe', 'validate'] : ['probe']
}

function bodyOf({ kind, name, handler }: Part, act: PartAct | AskingAct): Omit<CommandBody, 'reason'> {
  const which = kind === 'sink' ? { sink: name } : { channel: name, handler }
  return act === 'open' || act === 'closed' || act === 'auto'
    ? { task: 'breaker', to: act, ...which }
    : { task: act, ...which }
}
