import type { ReactNode } from 'react'
import type { Difference } from '../lib/differences.ts'
import { plainText } from '../lib/plain-text.ts'
import './differences.css'

/** Fields side by side. An equal value is shown once. */
export function DifferenceTable({
  fields,
  before,
  after,
  same,
}: {
  fields: readonly Difference[]
  /** The headings of the two sides. */
  before: ReactNode
  after: ReactNode
  /** Said on the second side instead of an equal value. */
  same: string
}) {
  return (
    <table className="differences">
      <thead>
        <tr>
          <th scope="col">
            <span className="unseen">Field</span>
          </th>
          <th scope="col">{before}</th>
          <th scope="col">{after}</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(field => (
          <tr key={field.name} className={field.isChanged ? 'changed' : ''}>
            <th scope="row">{field.name}</th>
            <td className="external-text">{plainText(field.before)}</td>
            <td className="external-text">
              {field.isChanged ? plainText(field.after) : <span className="quiet">{same}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
