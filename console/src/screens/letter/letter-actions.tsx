import { useState } from 'react'
import { discard, reopen, useChange } from '../../api/actions.ts'
import type { LetterDetail } from '../../api/types.ts'
import { planUrl } from '../../lib/letter-filters.ts'
import { both, useCan } from '../../lib/use-can.ts'
import { Button, LinkButton } from '../../ui/buttons.tsx'
import { AskReason } from '../../ui/dialog.tsx'
import { StillBlockedDialog } from '../letters/still-blocked.tsx'

const HELD = new Set(['dead', 'quarantined', 'parked'])

function reopeningOf(state: LetterDetail['state']): { readonly verb: string; readonly keep: string } {
  if (state === 'quarantined') return { verb: 'Release from quarantine', keep: 'Keep in quarantine' }
  if (state === 'parked') return { verb: 'Unpark letter', keep: 'Keep parked' }
  return { verb: 'Restore letter', keep: 'Keep discarded' }
}

export function LetterActions({ letter }: { letter: LetterDetail }) {
  const [asking, setAsking] = useState<'discard' | 'reopen'>()
  const canDiscard = useCan('letter.discard')
  const canReopen = useCan('letter.reopen')
  const canPlan = useCan('replay.plan')
  const change = useChange((reason: string) =>
    asking === 'reopen' ? reopen(letter.id, reason) : discard(letter.id, reason),
  )
  const reopening = reopeningOf(letter.state)
  const isHeld = {
    allowed: HELD.has(letter.state),
    reason: `The letter is ${letter.state} and cannot be sent.`,
  }
  const canBeSent =
    letter.state === 'parked'
      ? { allowed: false, reason: 'The letter has reached its replay limit. Unpark it first.' }
      : isHeld
  return (
    <>
      {HELD.has(letter.state) && (
        <Button may={canDiscard} onPress={() => setAsking('discard')}>
          Discard letter…
        </Button>
      )}
      {letter.state !== 'dead' && letter.state !== 'replaying' && letter.state !== 'resolved' && (
        <Button may={canReopen} onPress={() => setAsking('reopen')}>
          {reopening.verb}…
        </Button>
      )}
      <LinkButton look="main" href={planUrl({ ids: [letter.id] })} may={both(canPlan, canBeSent)} hotkey="r">
        Edit or replay letter
      </LinkButton>
      {asking === undefined && change.data?.stillBlocked && (
        <StillBlockedDialog blocked={change.data.stillBlocked} onClose={() => change.reset()} />
      )}
      {asking && (
        <AskReason
          title={asking === 'discard' ? 'Discard letter' : reopening.verb}
          verb={asking === 'discard' ? 'Discard letter' : reopening.verb}
          keep={asking === 'discard' ? 'Keep letter' : reopening.keep}
          danger={asking === 'discard'}
          onClose={() => setAsking(undefined)}
          onAnswer={reason => change.mutateAsync(reason)}
        >
          {asking === 'discard' ? (
            <p>
              The event no longer needs to be handled. The letter is stored, and you can restore it later.
            </p>
          ) : (
            <p>
              The letter becomes an ordinary dead letter, and a replay may send it unchanged. Do this once its
              cause is fixed.
            </p>
          )}
        </AskReason>
      )}
    </>
  )
}
