import { Link } from 'wouter'
import type { Replay } from '../../api/types.ts'
import { lettersUrl } from '../../lib/letter-filters.ts'
import { counted, percent } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { span } from '../../lib/times.ts'
import { useIsFederated } from '../../lib/use-can.ts'
import { CodeBox } from '../../ui/code-box.tsx'
import { Facts } from '../../ui/page.tsx'
import { Moment } from '../../ui/time.tsx'

export function ReplayFacts({ replay }: { replay: Replay }) {
  const isFederated = useIsFederated()
  const { selectedBy, halt, patch } = replay
  return (
    <>
      <Facts
        of={[
          ['selection', <Selected key="selected" by={selectedBy} />],
          ['store', isFederated && replay.store],
          ['to', replay.to ? `channel ${plainText(replay.to)}` : 'the channel each came from'],
          ['stages', `${replay.stages.join(', ')} at ${replay.perSecond} per second`],
          [
            'halts',
            `above ${percent(halt.refailRatio)} failed again${halt.onSameFingerprint ? ', or when the same cause comes back first' : ''}`,
          ],
          ['age', `at most ${span(replay.maxAgeMs)}`],
          ['quarantined', replay.allowQuarantined ? 'sent too' : 'left out unless edited'],
          ['approval', approvalOf(replay)],
          ['started', replay.startedAt && <Moment at={replay.startedAt} />],
          ['ended', replay.endedAt && <Moment at={replay.endedAt} />],
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
      {words.length === 0 ? 'every letter' : plainText(words.join(', '))}
    </Link>
  )
}

function approvalOf({ needsApproval, approvedBy }: Replay): string {
  if (!needsApproval) return 'not needed'
  return approvedBy === undefined ? 'needed, by someone else than the planner' : `by ${plainText(approvedBy)}`
}
