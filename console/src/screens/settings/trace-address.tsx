import { traceAddress, usePreference } from '../../lib/preferences.ts'
import { traceUrl } from '../../lib/trace-url.ts'
import { Field } from '../../ui/fields.tsx'

export function TraceAddress() {
  const address = usePreference(traceAddress)
  const isWrong = address !== '' && traceUrl(address, '0') === undefined
  return (
    <Field
      label="Where traces are looked at"
      value={address}
      placeholder="https://traces.example/trace/{traceId}"
      hint="Letters whose event carried a trace link there. Kept in this browser."
      fault={isWrong ? 'Give a web address with {traceId} in it.' : undefined}
      onChange={text => traceAddress.set(text.trim())}
    />
  )
}
