import { useState } from 'react'
import { triage, useChange } from '../../api/actions.ts'
import type { GroupDetail } from '../../api/types.ts'
import { planUrl } from '../../lib/letter-filters.ts'
import { both, useCan } from '../../lib/use-can.ts'
import { Button, LinkButton } from '../../ui/buttons.tsx'
import { ErrorNote } from '../../ui/notes.tsx'
import { MuteDialog } from './mute-dialog.tsx'

export function GroupActions({ group }: { group: GroupDetail }) {
  const canTriage = useCan('group.triage')
  const canPlan = useCan('replay.plan')
  const [isMuting, setMuting] = useState(false)
  const change = useChange((state: 'open' | 'acknowledged' | 'resolved') => triage(group.id, { state }))
  const nothingWaits = { allowed: group.waiting > 0, reason: 'No letters of this group are waiting.' }
  return (
    <>
      {group.state !== 'acknowledged' && group.state !== 'resolved' && (
        <Button may={canTriage} busy={change.isPending} onPress={() => change.mutate('acknowledged')}>
          Acknowledge group
        </Button>
      )}
      {group.state === 'open' || group.state === 'acknowledged' ? (
        <>
          <Button may={canTriage} onPress={() => setMuting(true)}>
            Mute group…
          </Button>
          <Button may={canTriage} busy={change.isPending} onPress={() => change.mutate('resolved')}>
            Resolve group
          </Button>
        </>
      ) : (
        <Button may={canTriage} busy={change.isPending} onPress={() => change.mutate('open')}>
          Reopen group
        </Button>
      )}
      <LinkButton
        hotkey="r"
        href={planUrl({ filter: { group: group.id } })}
        look="main"
        may={both(canPlan, nothingWaits)}
      >
        Plan replay
      </LinkButton>
      {change.error && <ErrorNote error={change.error} />}
      {isMuting && <MuteDialog group={group} onClose={() => setMuting(false)} />}
    </>
  )
}
