import { useMasks } from '../../api/queries.ts'
import type { MaskSet } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { ErrorNote, Loading } from '../../ui/notes.tsx'

/** Which values the server hides, and by which rule. The configuration of the server changes it, not the console. */
export function MaskSettings() {
  const { data, error, refetch } = useMasks()
  if (data === undefined) return error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={3} />
  if (!data.known)
    return <p className="quiet small">The server has masks of its own, and cannot say what they hide.</p>
  return (
    <div className="stack">
      <p className="quiet small">
        Masked values are shown as ***. The setting masks of the server turns masks off and adds others.
      </p>
      <OneSet name="Secrets" isBuiltIn set={data.secrets} />
      <OneSet name="Personal data" isBuiltIn set={data.personalData} />
      <OneSet name="Added by the configuration" set={data.own} />
    </div>
  )
}

function OneSet({ name, set, isBuiltIn = false }: { name: string; set: MaskSet; isBuiltIn?: boolean }) {
  const rules = [...set.names, ...set.paths, ...set.texts]
  const state = !set.active ? 'off' : rules.length === 0 ? 'none' : 'on'
  return (
    <div className="stack tight">
      <div>
        <strong>{name}</strong>{' '}
        <span className="quiet small">
          {state}
          {isBuiltIn && state === 'on' && ', by default'}
        </span>
      </div>
      {rules.length > 0 && (
        <details className="mask-rules">
          <summary>{counted(rules.length, 'mask')}</summary>
          <ul>
            {[...set.names, ...set.paths].map(rule => (
              <li key={rule}>
                <code className="external-text">{plainText(rule)}</code>
              </li>
            ))}
            {set.texts.map(rule => (
              <li key={rule} className="external-text">
                {plainText(rule)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}
