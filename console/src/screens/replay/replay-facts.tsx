import { Link } from 'wouter'
import type { Replay } from '../../api/types.ts'
import { lettersUrl } from '../../lib/letter-filters.ts'
import { counted, percent } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { span } from '../../lib/times.ts'
import { useIsFederated } from '../../lib/use-can.ts'
import { CodeBox } from '../../ui/code-box.tsx'
import { Facts } from '../../ui/page.tsx'
import { Timestamp } from '../../ui/time.tsx'

export function ReplayFacts({ replay }: { replay: Replay }) {
  const isFederated = useIsFederated()
  const { selectedBy, halt, patch } = replay
  return (
    <>
      <Facts
        of={[
          ['selection', <Selected key="selected" by={selectedBy} />],
          ['store', isFederated && replay.store],
          ['target', replay.to ? `channel ${plainText(replay.to)}` : 'original channel of each letter'],
          ['stages', `${replay.stages.join(', ')} at ${replay.perSecond} per second`],
          [
            'halts',
            `if over ${percent(halt.refailRatio)} fail again${halt.onSameFingerprint ? ', or if the first letters fail with the same cause' : ''}`,
          ],
          ['age limit', span(replay.maxAgeMs)],
          ['quarantined', replay.allowQuarantined ? 'included' : 'excluded unless edited'],
          ['not checked', replay.requireSchema ? 'skipped' : 'sent'],
          ['approval', approvalOf(replay)],
          ['started', replay.startedAt && <Timestamp at={replay.startedAt} />],
          ['ended', replay.endedAt && <Timestamp at={replay.endedAt} />],
          ['hash', <code key="hash">{replay.hash}</code>],
        ]}
      />
      {patch && (
        <CodeBox label="Patch">
          {plainText(patch.map(operation => JSON.stringify(operation)).join('\n'))}
        </CodeBox>
      )}
    </>
  )
}

function Selected({ by }: { by: Replay['selectedBy'] }) {
  if (by.ids) return <>{counted(by.ids.length, 'id')}</>
  const words = Object.entries(by.filter ?? {}).map(([name, value]) => `${name} ${value}`)
  return (
    <Link href={lettersUrl(by.filter ?? {})}>
      {words.length === 0 ? 'all letters' : plainText(words.join(', '))}
    </Link>
  )
}

function approvalOf({ needsApproval, approvedBy }: Replay): string {
  if (!needsApproval) return 'not needed'
  return approvedBy === undefined
    ? 'needed, by someone other than the planner'
    : `by ${plainText(approvedBy)}`
}
