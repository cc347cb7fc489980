import { useState } from 'react'
import { steer, useChange } from '../../api/actions.ts'
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
  const change = useChange(({ verb, why }: { verb: ReplayVerb; why: string }) => steer(replay.id, verb, why))
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
          verb={labelOf(asking, replay).replace('…', '')}
          danger={asking === 'cancel'}
          optional
          onClose={() => setAsking(undefined)}
          onAnswer={why => change.mutateAsync({ verb: asking, why })}
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
      return 'Approve'
    case 'pause':
      return 'Pause'
    case 'resume':
      return 'Go on'
    default:
      return 'Cancel'
  }
}

const TITLES: Readonly<Record<ReplayVerb, string>> = {
  start: 'Start this replay',
  approve: 'Approve this replay',
  pause: 'Pause this replay',
  resume: 'Let it go on',
  cancel: 'Cancel this replay',
}

function consequenceOf(verb: ReplayVerb, replay: Replay): string {
  const [first = 1] = replay.stages
  switch (verb) {
    case 'start':
      return `It sends ${first === 'rest' ? 'all of them' : counted(first, 'letter')} first, waits for what becomes of ${first === 1 ? 'it' : 'them'}, and goes on only while that is good. It halts by itself otherwise.`
    case 'approve':
      return 'You have read its reason and what the gates say. After this it can be started.'
    case 'pause':
      return 'Nothing more is sent. What was sent goes on and its outcome is counted.'
    case 'resume':
      return 'The letters that were not sent yet go on from the stage it stands at, under the same halt rules.'
    default:
      return 'Nothing more is sent, and it cannot go on. What was sent stays sent.'
  }
}
