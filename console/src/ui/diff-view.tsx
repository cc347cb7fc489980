import { useMemo } from 'react'
import { diffLines, hunksOf } from '../lib/diff.ts'
import { counted } from '../lib/numbers.ts'
import { cut } from '../lib/plain-text.ts'
import { CodeBox } from './code-box.tsx'

const SIGNS = { same: ' ', gone: '−', new: '+' } as const
const CHANGES = { gone: 'removed: ', new: 'added: ' } as const
const LONGEST_LINE = 2_000

/** What changes between two texts: a sign before each line, so that it does not hang on colour. */
export function DiffView({
  before,
  after,
  label,
  unchanged,
  words = CHANGES,
}: {
  before: readonly string[]
  after: readonly string[]
  label: string
  /** Said instead of a difference when there is none. */
  unchanged: string
  /** What the signs say to a screen reader. */
  words?: Readonly<Record<'gone' | 'new', string>>
}) {
  const { hunks, rest } = useMemo(() => hunksOf(diffLines(before, after)), [before, after])
  if (hunks.length === 0) return <p className="quiet small">{unchanged}</p>
  return (
    <div className="code-box">
      <CodeBox label={label} look="diff">
        {hunks.map((hunk, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a hunk is its place
          <span key={at}>
            <Skipped count={hunk.skipped} />
            {hunk.lines.map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
              <span key={index} className={`line ${line.kind}`}>
                <span aria-hidden="true">{SIGNS[line.kind]} </span>
                {line.kind !== 'same' && <span className="unseen">{words[line.kind]}</span>}
                {cut(line.text, LONGEST_LINE).text}
                {'\n'}
              </span>
            ))}
          </span>
        ))}
        <Skipped count={rest} />
      </CodeBox>
    </div>
  )
}

function Skipped({ count }: { count: number }) {
  if (count === 0) return null
  return <span className="line skipped">{`  … ${counted(count, 'unchanged line')}\n`}</span>
}
