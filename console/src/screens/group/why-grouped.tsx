import type { GroupDetail } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { CodeBox } from '../../ui/code-box.tsx'

const RULES: Readonly<Record<GroupDetail['rule'], string>> = {
  explicit: 'The handler named the cause itself, by a key on its error.',
  frame: 'The same error was thrown at the same place of your own code.',
  message: 'The same error with the same message, once ids, numbers and quoted values are masked.',
  reason: 'No attempt was made, so all there is to go by is why it was given up on.',
}

export function WhyGrouped({ group }: { group: GroupDetail }) {
  return (
    <div className="stack">
      <p className="small">{RULES[group.rule]}</p>
      <CodeBox label="What was compared">{plainText(group.basis)}</CodeBox>
      <p className="quiet small foreign">
        Fingerprint <code>{group.id}</code>
      </p>
    </div>
  )
}
