import { useLetterPage } from '../../api/queries.ts'
import type { GroupDetail } from '../../api/types.ts'
import { whole } from '../../lib/numbers.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { LetterTable } from '../../ui/letter-table.tsx'
import { Empty, Trouble, Waiting } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'

const SHOWN = 50

export function GroupLetters({ group }: { group: GroupDetail }) {
  const { data, error, refetch } = useLetterPage({ group: group.id, limit: SHOWN })
  if (error) return <Trouble error={error} onRetry={refetch} />
  if (data === undefined) return <Waiting rows={8} />
  if (data.letters.length === 0)
    return (
      <Panel>
        <Empty title="No letter is left">They were deleted or have failed with another cause since.</Empty>
      </Panel>
    )
  return (
    <>
      <Panel bare>
        <LetterTable letters={data.letters} isOneCause />
      </Panel>
      <div className="row">
        <LinkButton href={`/letters?group=${encodeURIComponent(group.id)}`}>
          {`Filter or select among all ${whole(group.count)}`}
        </LinkButton>
      </div>
    </>
  )
}
