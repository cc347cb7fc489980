import { useState } from 'react'
import { discard, reopen, useChange } from '../../api/actions.ts'
import type { LetterDetail } from '../../api/types.ts'
import { planUrl } from '../../lib/letter-filters.ts'
import { both, useCan } from '../../lib/use-can.ts'
import { Button, LinkButton } from '../../ui/buttons.tsx'
import { AskReason } from '../../ui/dialog.tsx'

const HELD = new Set(['dead', 'quarantined', 'parked'])

export function LetterActions({ letter }: { letter: LetterDetail }) {
  const [asking, setAsking] = useState<'discard' | 'reopen'>()
  const canDiscard = useCan('letter.discard')
  const canReopen = useCan('letter.reopen')
  const canPlan = useCan('replay.plan')
  const change = useChange((reason: string) =>
    asking === 'reopen' ? reopen(letter.id, reason) : discard(letter.id, reason),
  )
  const isHeld = { allowed: HELD.has(letter.state), why: `It is ${letter.state}: there is nothing to send.` }
  const canBeSent =
    letter.state === 'parked'
      ? { allowed: false, why: 'It was replayed as often as allowed. Lift it out first.' }
      : isHeld
  return (
    <>
      {HELD.has(letter.state) && (
        <Button may={canDiscard} onPress={() => setAsking('discard')}>
          Discard…
        </Button>
      )}
      {letter.state !== 'dead' && letter.state !== 'replaying' && letter.state !== 'resolved' && (
        <Button may={canReopen} onPress={() => setAsking('reopen')}>
          {letter.state === 'quarantined'
            ? 'Release…'
            : letter.state === 'parked'
              ? 'Lift out…'
              : 'Take back…'}
        </Button>
      )}
      <LinkButton look="main" href={planUrl({ ids: [letter.id] })} may={both(canPlan, canBeSent)}>
        Edit or replay
      </LinkButton>
      {asking && (
        <AskReason
          title={asking === 'discard' ? 'Discard this letter' : 'Make it an ordinary dead letter again'}
          verb={asking === 'discard' ? 'Discard' : 'Do it'}
          danger={asking === 'discard'}
          onClose={() => setAsking(undefined)}
          onAnswer={reason => change.mutateAsync(reason)}
        >
          {asking === 'discard' ? (
            <p>
              Its event need not be handled any more. The letter is kept, and the decision can be taken back.
            </p>
          ) : (
            <p>A replay may send it again, unchanged. Do this when its cause is mended.</p>
          )}
        </AskReason>
      )}
    </>
  )
}
