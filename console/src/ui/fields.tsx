import { type ReactNode, useEffect, useId, useRef } from 'react'
import './fields.css'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly hint?: ReactNode
  readonly fault?: string | undefined
  readonly placeholder?: string | undefined
  readonly maxLength?: number
  readonly rows?: number
  readonly mono?: boolean
  readonly autoFocus?: boolean
  readonly type?: 'text' | 'password' | 'number' | 'datetime-local'
}

export function Field(props: FieldProps) {
  const {
    label,
    value,
    onChange,
    hint,
    fault,
    placeholder,
    maxLength,
    rows,
    mono,
    autoFocus,
    type = 'text',
  } = props
  const id = useId()
  const element = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  useEffect(() => {
    if (autoFocus) element.current?.focus()
  }, [autoFocus])
  const shared = {
    id,
    ref: element,
    value,
    placeholder,
    maxLength,
    className: mono ? 'input mono' : 'input',
    'aria-invalid': fault !== undefined || undefined,
    'aria-describedby': `${id}-hint`,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  }
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {rows === undefined ? (
        <input type={type} autoComplete="off" spellCheck={false} {...shared} />
      ) : (
        <textarea rows={rows} spellCheck={false} {...shared} />
      )}
      <div id={`${id}-hint`} className={fault === undefined ? 'hint' : 'hint fault'}>
        {fault ?? hint}
      </div>
    </div>
  )
}

export function Select<T extends string>({
  label,
  value,
  of,
  onChange,
  hideLabel = false,
}: {
  label: string
  value: T
  of: readonly (readonly [T, string])[]
  onChange: (value: T) => void
  hideLabel?: boolean
}) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? 'unseen' : undefined}>
        {label}
      </label>
      <select id={id} className="input" value={value} onChange={event => onChange(event.target.value as T)}>
        {of.map(([each, word]) => (
          <option key={each} value={each}>
            {word}
          </option>
        ))}
      </select>
    </div>
  )
}

/** A few choices that all stay in sight. */
export function Segments<T extends string>({
  label,
  value,
  of,
  onChange,
}: {
  label: string
  value: T
  of: readonly (readonly [T, ReactNode])[]
  onChange: (value: T) => void
}) {
  const name = useId()
  return (
    <fieldset className="segments">
      <legend className="unseen">{label}</legend>
      {of.map(([each, word]) => (
        <label key={each}>
          <input
            type="radio"
            name={name}
            value={each}
            checked={each === value}
            onChange={() => onChange(each)}
          />
          <span>{word}</span>
        </label>
      ))}
    </fieldset>
  )
}

export function Checkbox({
  label,
  hint,
  checked,
  onChange,
}: {
  label: string
  hint?: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
}) {
  const id = useId()
  return (
    <div className="tick">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={event => onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <div id={`${id}-hint`} className="hint">
            {hint}
          </div>
        )}
      </div>
    </div>
  )
}
