import type { PlanProgress as Progress } from '../../api/types.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { Button } from '../../ui/buttons.tsx'

/** How far the plan is. Nothing is planned until the last letter is checked and all of them are stored. */
export function PlanProgress({ checked, of, onCancel }: Progress & { onCancel: () => void }) {
  return (
    <div className="stack tight">
      <progress {...(of === undefined ? {} : { value: checked, max: of })} aria-label="Letters checked" />
      <div className="row end">
        <p role="status">{progressText(checked, of)}</p>
        <Button onPress={onCancel}>Cancel plan</Button>
      </div>
    </div>
  )
}

function progressText(checked: number, of: number | undefined): string {
  if (of === undefined) return `${counted(checked, 'letter')} checked`
  if (checked < of) return `${whole(checked)} of ${counted(of, 'letter')} checked`
  return `${counted(of, 'letter')} checked; storing the plan…`
}
