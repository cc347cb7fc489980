import { useChannels } from '../../api/queries.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Select } from '../../ui/fields.tsx'

export function ChannelChoice({ value, onChange }: { value: string; onChange: (channel: string) => void }) {
  const { data } = useChannels()
  const names = new Set(data?.channels.map(each => each.channel) ?? [])
  // A channel that the URL names stays chosen, even if nothing of it is there any more.
  if (value !== '') names.add(value)
  return (
    <Select
      label="Channel"
      hideLabel
      value={value}
      of={[['', 'All channels'] as const, ...[...names].map(name => [name, plainText(name)] as const)]}
      onChange={onChange}
    />
  )
}
