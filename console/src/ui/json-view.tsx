import { useMemo, useState } from 'react'
import { jsonLines, tokensOf } from '../lib/json-lines.ts'
import { counted } from '../lib/numbers.ts'
import { cut } from '../lib/plain-text.ts'
import { Button } from './buttons.tsx'
import { CodeBox } from './code-box.tsx'

const FIRST_LINES = 400
const MORE_LINES = 2_000
const LONGEST_LINE = 4_000

/** A JSON value as text, never as anything else, and never more of it at once than a page can bear. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const lines = useMemo(() => jsonLines(value), [value])
  const [shown, setShown] = useState(FIRST_LINES)
  const more = lines.length - shown
  return (
    <div className="code-box">
      <CodeBox label={label}>
        {lines.slice(0, shown).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
          <Line key={index} line={line} />
        ))}
      </CodeBox>
      {more > 0 && (
        <Button onPress={() => setShown(shown + MORE_LINES)}>
          Show {counted(Math.min(more, MORE_LINES), 'more line')} of {lines.length}
        </Button>
      )}
    </div>
  )
}

function Line({ line }: { line: string }) {
  const { text, more } = cut(line, LONGEST_LINE)
  return (
    <span className="line">
      {tokensOf(text).map((token, index) =>
        token.kind === 'mark' ? (
          token.text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a part of a line is its place
          <span key={index} className={`json-${token.kind}`}>
            {token.text}
          </span>
        ),
      )}
      {more > 0 && <span className="cut"> … {counted(more, 'more character')}</span>}
      {'\n'}
    </span>
  )
}
