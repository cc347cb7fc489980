import { Link } from 'wouter'
import { useGroupDifferences } from '../../api/queries.ts'
import type { GroupDetail, GroupDifferences } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { ErrorNote, Loading } from '../../ui/notes.tsx'

/** What the letters that failed again have and those that recovered have not, or the other way round. */
export function GroupDifferencesView({ group }: { group: GroupDetail }) {
  const { data, error, refetch } = useGroupDifferences(group.id)
  if (data === undefined) return error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={2} />
  const { failed, recovered, needed, fields, masked } = data
  const compared = `Compared: the latest ${counted(failed, 'failed letter')} and ${counted(recovered, 'recovered letter')}.`
  return (
    <div className="stack tight">
      {failed < needed || recovered < needed ? (
        <p className="quiet small">
          Too few letters to compare: {failed} failed and {recovered} recovered. At least {needed} of each are
          needed.
        </p>
      ) : (
        <>
          {fields.length === 0 && <p className="small">No field separates them.</p>}
          <ul className="separating small">
            {fields.map(each => (
              <li key={each.field} className="external-text">
                <Separating each={each} group={group.id} />
                <div className="quiet">
                  failed {each.failed} of {failed}, recovered {each.recovered} of {recovered}
                </div>
              </li>
            ))}
          </ul>
          <p className="quiet small">
            {compared}
            {masked > 0 && ` Left out: ${counted(masked, 'masked field')}.`}
          </p>
        </>
      )}
    </div>
  )
}

function Separating({ each, group }: { each: GroupDifferences['fields'][number]; group: string }) {
  const { field, value } = each
  if (value === undefined)
    return (
      <>
        <code>{plainText(field)}</code> is missing
      </>
    )
  // Conditions compare texts, numbers and flags.
  const canFilter = !value.startsWith('{') && !value.startsWith('[')
  const where = `${field} = ${value}`
  return canFilter ? (
    <Link href={`/letters?${new URLSearchParams({ group, where })}`}>
      <code>{plainText(where)}</code>
    </Link>
  ) : (
    <code>{plainText(where)}</code>
  )
}
