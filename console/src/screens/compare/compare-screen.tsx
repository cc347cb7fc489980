import { Link } from 'wouter'
import { useLetter } from '../../api/queries.ts'
import { comparedLetters } from '../../api/screen-queries.ts'
import type { LetterDetail } from '../../api/types.ts'
import { comparableLines, hasMasked, letterDifferences } from '../../lib/letter-differences.ts'
import { comparePath, groupPath, letterPath } from '../../lib/paths.ts'
import { plainText, textLines } from '../../lib/plain-text.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { DiffView } from '../../ui/diff-view.tsx'
import { DifferenceTable } from '../../ui/differences.tsx'
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'

const NAME = 'Compare letters'
const NO_STACK = 'Neither letter has a stack. The option keepStack of a consumer or dispatcher keeps it.'
const SIDES = { gone: 'only in the first: ', new: 'only in the second: ' } as const

/** Two letters side by side. The address names them, so that a reload and a colleague see the same. */
export function CompareScreen() {
  const [params] = useParams()
  const [first, second] = comparedLetters(params)
  if (first === undefined || second === undefined || first === second)
    return (
      <Page name={NAME} above={<Link href="/letters">Letters</Link>}>
        <Panel>
          <Empty title="Select two letters">
            <p>Select two different letters of a list, and press Compare selected.</p>
            <LinkButton href="/letters">View all letters</LinkButton>
          </Empty>
        </Panel>
      </Page>
    )
  return <Both key={`${first} ${second}`} ids={[first, second]} />
}

function Both({ ids: [first, second] }: { ids: readonly [string, string] }) {
  const [one, other] = [useLetter(first), useLetter(second)]
  if (one.data === undefined || other.data === undefined)
    return (
      <Page name={NAME} above={<Link href="/letters">Letters</Link>}>
        {one.error && <ErrorNote error={one.error} onRetry={one.refetch} />}
        {other.error && <ErrorNote error={other.error} onRetry={other.refetch} />}
        {!one.error && !other.error && <Loading rows={9} />}
      </Page>
    )
  return <Comparison first={one.data} second={other.data} />
}

interface Pair {
  readonly first: LetterDetail
  readonly second: LetterDetail
}

function Comparison({ first, second }: Pair) {
  const isSameGroup = first.group === second.group
  return (
    <Page
      name={NAME}
      above={
        <>
          <Link href="/letters">Letters</Link> ›{' '}
          <Link href={groupPath(first.group)}>
            {isSameGroup ? 'View group' : 'View group of the first letter'}
          </Link>
        </>
      }
      lead={
        <>
          <span className="external-text">
            {isSameGroup ? `Same cause: ${plainText(first.grouping.title)}` : 'The causes differ.'}
          </span>
          {hasMasked(first, second) && <span className="quiet">Masked values (***) are not compared.</span>}
        </>
      }
      actions={<LinkButton href={comparePath(second.id, first.id)}>Swap letters</LinkButton>}
    >
      <Panel title="Letters">
        <DifferenceTable
          fields={letterDifferences(first, second)}
          before={<Side letter={first} name="First" />}
          after={<Side letter={second} name="Second" />}
          same="equal"
        />
      </Panel>
      <Part name="Payload" first={first.event.payload} second={second.event.payload} />
      <Part name="Headers" first={first.event.headers} second={second.event.headers} />
      <Part name="Metadata" first={first.metadata} second={second.metadata} />
      <Part name="Origin" first={first.origin} second={second.origin} />
      <Panel title="Stack">
        <DiffView
          before={stackOf(first)}
          after={stackOf(second)}
          label="Stack of the first and of the second letter"
          unchanged={stackOf(first).length === 0 ? NO_STACK : 'The stacks are equal.'}
          words={SIDES}
        />
      </Panel>
    </Page>
  )
}

function Side({ letter, name }: { letter: LetterDetail; name: string }) {
  return (
    <>
      {name} <Link href={letterPath(letter.id)}>View letter</Link>
    </>
  )
}

/** One part of both letters as JSON; nothing if neither has it. */
function Part({ name, first, second }: { name: string; first: unknown; second: unknown }) {
  const [before, after] = [comparableLines(first), comparableLines(second)]
  if (before.length === 0 && after.length === 0) return null
  return (
    <Panel title={name}>
      <DiffView
        before={before}
        after={after}
        label={`${name} of the first and of the second letter`}
        unchanged={isBinary(first) ? 'Binary data of the same size, not compared.' : 'Equal in both letters.'}
        words={SIDES}
      />
    </Panel>
  )
}

/** The API shows the size of binary data in its place. */
function isBinary(value: unknown): boolean {
  return typeof value === 'string' && /^\[\d+ bytes\]$/.test(value)
}

function stackOf({ cycles }: LetterDetail): readonly string[] {
  return textLines(cycles.at(-1)?.failure?.stack)
}
