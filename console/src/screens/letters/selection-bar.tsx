import { useState } from 'react'
import { purge, useChange } from '../../api/actions.ts'
import type { LetterPage, PurgeBody } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { type FilterTexts, filterForServer, filterInWords, planUrl } from '../../lib/letter-filters.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { both, useCan } from '../../lib/use-can.ts'
import { Button, LinkButton } from '../../ui/buttons.tsx'
import { AskReason } from '../../ui/dialog.tsx'

interface SelectionBarProps {
  readonly page: LetterPage
  readonly selected: ReadonlySet<string>
  readonly texts: FilterTexts
  /** How many letters match, on all pages together; undefined while they are counted. */
  readonly matching: number | undefined
}

/** What is ticked on this page, and all that match: two choices, never taken for each other. */
export function SelectionBar({ page, selected, texts, matching }: SelectionBarProps) {
  const canPlan = useCan('replay.plan')
  const ticked = { allowed: selected.size > 0, why: 'Tick letters of this page first.' }
  const countedAll = { allowed: matching !== undefined, why: 'They are still being counted.' }
  return (
    <div className="selection">
      <span className="small quiet">
        {counted(selected.size, 'letter')} of {page.letters.length} on this page ticked
      </span>
      <LinkButton href={planUrl({ ids: [...selected] })} may={both(canPlan, ticked)}>
        Replay the ticked ones
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
  const change = useChange((body: PurgeBody) => purge(body))
  const hasAny = { allowed: (matching ?? 0) > 0, why: 'No letter matches.' }
  return (
    <>
      <Button look="danger" may={both(can, hasAny)} onPress={() => setAsking(true)}>
        Purge all matching…
      </Button>
      {isAsking && matching !== undefined && (
        <AskReason
          title={`Delete ${counted(matching, 'letter')} for good`}
          verb={`Delete ${counted(matching, 'letter')}`}
          danger
          onClose={() => setAsking(false)}
          onAnswer={reason =>
            change.mutateAsync({ filter: filterForServer(texts, now()), expectedCount: matching, reason })
          }
        >
          <p>
            Every letter of the selection goes, on all pages:{' '}
            <strong>{plainText(filterInWords(texts))}</strong>. Their events cannot be replayed afterwards.
          </p>
          <p>If their number has changed meanwhile, nothing is deleted.</p>
        </AskReason>
      )}
    </>
  )
}
