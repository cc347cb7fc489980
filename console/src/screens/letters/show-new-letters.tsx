import type { LetterPage, LetterStats } from '../../api/types.ts'
import { Button } from '../../ui/buttons.tsx'

/** The list does not move under the reader; it says that there is more and lets them ask. */
export function ShowNewLetters({
  page,
  stats,
  isFirst,
  onShow,
}: {
  page: LetterPage
  stats: LetterStats | undefined
  isFirst: boolean
  onShow: () => unknown
}) {
  const newest = page.letters[0]?.lastFailedAt ?? ''
  const isBehind = isFirst && stats?.newestAt !== undefined && stats.newestAt > newest
  return (
    <div className="new-letters" role="status">
      {isBehind && <Button onPress={() => void onShow()}>Show new letters</Button>}
    </div>
  )
}
