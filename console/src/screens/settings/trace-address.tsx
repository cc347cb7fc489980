import { traceAddress, usePreference } from '../../lib/preferences.ts'
import { traceUrl } from '../../lib/trace-url.ts'
import { Field } from '../../ui/fields.tsx'

export function TraceAddress() {
  const address = usePreference(traceAddress)
  const isWrong = address !== '' && traceUrl(address, '0') === undefined
  return (
    <Field
      label="Trace URL"
      value={address}
      placeholder="https://traces.example/trace/{traceId}"
      hint="Letters with a trace id link to this URL. Stored in this browser."
      fault={isWrong ? 'Enter a URL that contains {traceId}.' : undefined}
      onChange={text => traceAddress.set(text.trim())}
    />
  )
}
