import { useState } from 'react'
import type { BulkVerb } from '../../api/actions.ts'
import type { Action, LetterPage, LetterStats, Permission, StillBlocked } from '../../api/types.ts'
import { type FilterTexts, planUrl } from '../../lib/letter-filters.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { both, useCan } from '../../lib/use-can.ts'
import { Button, LinkButton } from '../../ui/buttons.tsx'
import { CompareButton } from '../../ui/compare-button.tsx'
import { BulkDialog } from './bulk-dialog.tsx'

interface SelectionBarProps {
  readonly page: LetterPage
  readonly selected: ReadonlySet<string>
  readonly texts: FilterTexts
  /** The counts of the letters that match, on all pages together; undefined while they are counted. */
  readonly stats: LetterStats | undefined
  /** Receives the letters whose keys are still blocked after a discard. */
  readonly onBlocked: (blocked: StillBlocked) => void
}

/** The letters selected on this page and all that match: two choices that must not be confused. */
export function SelectionBar({ page, selected, texts, stats, onBlocked }: SelectionBarProps) {
  const canPlan = useCan('replay.plan')
  const hasSelected = { allowed: selected.size > 0, reason: 'Select letters on this page first.' }
  const isCounted = {
    allowed: stats !== undefined,
    reason: 'The matching letters are still being counted.',
  }
  return (
    <div className="selection">
      <span className="small quiet">
        {whole(selected.size)} of {counted(page.letters.length, 'letter')} on this page selected
      </span>
      <LinkButton href={planUrl({ ids: [...selected] })} may={both(canPlan, hasSelected)} hotkey="r">
        Replay selected
      </LinkButton>
      <CompareButton letters={page.letters} selected={selected} />
      <span className="push row">
        <LinkButton href={planUrl({ filter: texts })} may={both(canPlan, isCounted)}>
          {stats === undefined || stats.atLeast
            ? 'Replay all matching'
            : `Replay all ${counted(stats.count, 'matching', 'matching')}`}
        </LinkButton>
        <BulkActions texts={texts} isCounted={isCounted} onBlocked={onBlocked} />
      </span>
    </div>
  )
}

const MORE = [
  ['export', 'letters.export', 'Export…'],
  ['assign', 'group.triage', 'Assign groups…'],
  ['release', 'letter.reopen', 'Release from quarantine…'],
  ['discard', 'letter.discard', 'Discard…'],
] as const

/** The other actions on every letter that matches. */
function BulkActions({
  texts,
  isCounted,
  onBlocked,
}: Pick<SelectionBarProps, 'texts' | 'onBlocked'> & { isCounted: Permission }) {
  const [asked, setAsked] = useState<BulkVerb>()
  // A count that stopped early may be 0 although letters match, so only the preview can say that there are none.
  return (
    <>
      <details className="menu">
        <summary>More for all matching</summary>
        <div className="stack tight">
          {MORE.map(([verb, action, label]) => (
            <BulkButton
              key={verb}
              action={action}
              label={label}
              may={isCounted}
              onPress={() => setAsked(verb)}
            />
          ))}
        </div>
      </details>
      <BulkButton
        action="letters.purge"
        look="danger"
        label="Delete all matching…"
        may={isCounted}
        onPress={() => setAsked('purge')}
      />
      {asked !== undefined && (
        <BulkDialog
          key={asked}
          verb={asked}
          texts={texts}
          onClose={() => setAsked(undefined)}
          onBlocked={onBlocked}
        />
      )}
    </>
  )
}

interface BulkButtonProps {
  readonly action: Action
  readonly label: string
  readonly look?: 'danger'
  readonly may: Permission
  readonly onPress: () => void
}

function BulkButton({ action, label, look, may, onPress }: BulkButtonProps) {
  const can = useCan(action)
  return (
    <Button {...(look === undefined ? {} : { look })} may={both(can, may)} onPress={onPress}>
      {label}
    </Button>
  )
}
