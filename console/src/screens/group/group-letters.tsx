import { useLetterPage } from '../../api/queries.ts'
import { groupLettersQuery } from '../../api/screen-queries.ts'
import type { GroupDetail } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { useSelection } from '../../lib/use-selection.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { CompareButton } from '../../ui/compare-button.tsx'
import { LetterTable } from '../../ui/letter-table.tsx'
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'

export function GroupLetters({ group }: { group: GroupDetail }) {
  const { data, error, refetch } = useLetterPage(groupLettersQuery(group.id))
  const selection = useSelection(data?.letters ?? [])
  if (error) return <ErrorNote error={error} onRetry={refetch} />
  if (data === undefined) return <Loading rows={8} />
  if (data.letters.length === 0)
    return (
      <Panel>
        <Empty title="No letters left">
          The letters were deleted, or have since failed with another cause.
        </Empty>
      </Panel>
    )
  return (
    <>
      <Panel bare>
        <LetterTable letters={data.letters} selection={selection} isOneCause />
      </Panel>
      <div className="row">
        <LinkButton href={`/letters?group=${encodeURIComponent(group.id)}`}>
          {`Filter or select ${counted(group.count, 'letter')}`}
        </LinkButton>
        <CompareButton letters={data.letters} selected={selection.ids} />
      </div>
    </>
  )
}
