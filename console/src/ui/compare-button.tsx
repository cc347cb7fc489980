import type { LetterSummary } from '../api/types.ts'
import { comparePath } from '../lib/paths.ts'
import { LinkButton } from './buttons.tsx'

/** Compares the two selected letters; the one that failed earlier is the first. */
export function CompareButton({
  letters,
  selected,
}: {
  letters: readonly LetterSummary[]
  selected: ReadonlySet<string>
}) {
  const [first, second, third] = letters
    .filter(({ id }) => selected.has(id))
    .sort((a, b) => Date.parse(a.lastFailedAt) - Date.parse(b.lastFailedAt))
  const isPair = second !== undefined && third === undefined
  return (
    <LinkButton
      href={isPair ? comparePath(first!.id, second.id) : '/letters/compare'}
      may={{ allowed: isPair, reason: 'Select exactly two letters on this page first.' }}
      hotkey="c"
    >
      Compare selected
    </LinkButton>
  )
}
