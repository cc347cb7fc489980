import { useState } from 'react'
import { changeReplay, useChange } from '../../api/actions.ts'
import type { Replay, ReplayState, ReplayVerb } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { Button } from '../../ui/buttons.tsx'
import { AskReason } from '../../ui/dialog.tsx'

/** What can be done with a replay in which state; whether you may do it, the server says. */
const VERBS: Readonly<Record<ReplayState, readonly ReplayVerb[]>> = {
  planned: ['cancel', 'approve', 'start'],
  approved: ['cancel', 'start'],
  running: ['cancel', 'pause'],
  paused: ['cancel', 'resume'],
  halted: ['cancel', 'resume'],
  finished: [],
  cancelled: [],
}

export function ReplayActions({ replay }: { replay: Replay }) {
  const [asking, setAsking] = useState<ReplayVerb>()
  const change = useChange(({ verb, reason }: { verb: ReplayVerb; reason: string }) =>
    changeReplay(replay.id, verb, reason),
  )
  const verbs = VERBS[replay.state].filter(verb => verb !== 'approve' || replay.needsApproval)
  return (
    <>
      {verbs.map(verb => (
        <Button
          key={verb}
          look={
            verb === 'start' || verb === 'resume' || verb === 'approve'
              ? 'main'
              : verb === 'cancel'
                ? 'danger'
                : 'plain'
          }
          may={replay.can[verb]}
          onPress={() => setAsking(verb)}
        >
          {labelOf(verb, replay)}
        </Button>
      ))}
      {asking && (
        <AskReason
          title={TITLES[asking]}
          verb={labelOf(asking, replay)}
          keep={keepOf(asking, replay)}
          danger={asking === 'cancel'}
          optional
          onClose={() => setAsking(undefined)}
          onAnswer={reason => change.mutateAsync({ verb: asking, reason })}
        >
          <p>{consequenceOf(asking, replay)}</p>
        </AskReason>
      )}
    </>
  )
}

function labelOf(verb: ReplayVerb, replay: Replay): string {
  const goes = replay.findings.replay ?? 0
  switch (verb) {
    case 'start':
      return `Start: send ${counted(goes, 'letter')}`
    case 'approve':
      return 'Approve replay'
    case 'pause':
      return 'Pause replay'
    case 'resume':
      return 'Resume replay'
    default:
      return 'Cancel replay'
  }
}

/** The button that leaves the replay as it is. */
function keepOf(verb: ReplayVerb, { state }: Replay): string {
  if (verb === 'approve') return 'Keep unapproved'
  if (state === 'running') return 'Keep running'
  return state === 'paused' || state === 'halted' ? `Keep ${state}` : 'Keep plan'
}

const TITLES: Readonly<Record<ReplayVerb, string>> = {
  start: 'Start replay',
  approve: 'Approve replay',
  pause: 'Pause replay',
  resume: 'Resume replay',
  cancel: 'Cancel replay',
}

function consequenceOf(verb: ReplayVerb, replay: Replay): string {
  const [first = 1] = replay.stages
  switch (verb) {
    case 'start':
      return `The replay sends ${first === 'rest' ? 'all letters' : counted(first, 'letter')} first and waits for the ${first === 1 ? 'outcome' : 'outcomes'}. It continues while letters recover, and halts automatically if too many fail again.`
    case 'approve':
      return 'Confirm that you have read the reason and the gate results. The replay can then be started.'
    case 'pause':
      return 'No more letters are sent. Letters already sent are still handled and counted.'
    case 'resume':
      return 'The remaining letters are sent from the current stage on, under the same halt rules.'
    default:
      return 'No more letters are sent, and the replay cannot be resumed. Letters already sent are not taken back.'
  }
}
