import type { GroupDetail } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { CodeBox } from '../../ui/code-box.tsx'

const RULES: Readonly<Record<GroupDetail['rule'], string>> = {
  explicit: 'The handler set a grouping key on its error.',
  frame: 'The same error was thrown at the same place in your code.',
  message: 'The same error with the same message, after masking ids, numbers and quoted values.',
  reason: 'No attempt was made, so the letters are grouped by their reason alone.',
}

export function WhyGrouped({ group }: { group: GroupDetail }) {
  return (
    <div className="stack">
      <p className="small">{RULES[group.rule]}</p>
      <CodeBox label="Compared text">{plainText(group.basis)}</CodeBox>
      <p className="quiet small external-text">
        Fingerprint <code>{group.id}</code>
      </p>
    </div>
  )
}
