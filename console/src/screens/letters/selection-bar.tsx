import { useState } from 'react'
import type { LetterPage } from '../../api/types.ts'
import { type FilterTexts, planUrl } from '../../lib/letter-filters.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { both, useCan } from '../../lib/use-can.ts'
import { Button, LinkButton } from '../../ui/buttons.tsx'
import { PurgeDialog } from './purge-dialog.tsx'

interface SelectionBarProps {
  readonly page: LetterPage
  readonly selected: ReadonlySet<string>
  readonly texts: FilterTexts
  /** How many letters match, on all pages together; undefined while they are counted. */
  readonly matching: number | undefined
}

/** The letters selected on this page and all that match: two choices that must not be confused. */
export function SelectionBar({ page, selected, texts, matching }: SelectionBarProps) {
  const canPlan = useCan('replay.plan')
  const hasSelected = { allowed: selected.size > 0, reason: 'Select letters on this page first.' }
  const countedAll = {
    allowed: matching !== undefined,
    reason: 'The matching letters are still being counted.',
  }
  return (
    <div className="selection">
      <span className="small quiet">
        {whole(selected.size)} of {counted(page.letters.length, 'letter')} on this page selected
      </span>
      <LinkButton href={planUrl({ ids: [...selected] })} may={both(canPlan, hasSelected)}>
        Replay selected
      </LinkButton>
      <span className="push row">
        <LinkButton href={planUrl({ filter: texts })} may={both(canPlan, countedAll)}>
          {matching === undefined
            ? 'Replay all matching'
            : `Replay all ${counted(matching, 'matching', 'matching')}`}
        </LinkButton>
        <Purge texts={texts} matching={matching} />
      </span>
    </div>
  )
}

function Purge({ texts, matching }: { texts: FilterTexts; matching: number | undefined }) {
  const can = useCan('letters.purge')
  const [isAsking, setAsking] = useState(false)
  const hasAny = { allowed: (matching ?? 0) > 0, reason: 'No letter matches.' }
  return (
    <>
      <Button look="danger" may={both(can, hasAny)} onPress={() => setAsking(true)}>
        Delete all matching…
      </Button>
      {isAsking && <PurgeDialog texts={texts} onClose={() => setAsking(false)} />}
    </>
  )
}
