import { type FormEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { Button } from './buttons.tsx'
import { Field } from './fields.tsx'
import { ErrorNote } from './notes.tsx'
import './dialog.css'

/** The browser's own dialog: it keeps the focus, closes by Escape, and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ReactNode
}) {
  const element = useRef<HTMLDialogElement>(null)
  // Before the fields inside ask for the focus, because opening it takes the focus to the first button.
  useLayoutEffect(() => {
    element.current?.showModal()
  }, [])
  return (
    <dialog ref={element} className="dialog" aria-label={title} onClose={onClose}>
      <header>
        <h2>{title}</h2>
        <Button look="quiet" label="Close" onPress={() => element.current?.close()}>
          ✕
        </Button>
      </header>
      {children}
    </dialog>
  )
}

interface AskProps {
  readonly title: string
  readonly children: ReactNode
  /** What the button does, as a verb. */
  readonly verb: string
  readonly danger?: boolean
  /** The button that does nothing: what stays as it is. */
  readonly keep?: string
  readonly optional?: boolean
  readonly placeholder?: string
  readonly onAnswer: (reason: string) => Promise<unknown>
  readonly onClose: () => void
}

/** Asks why before something is done. The answer goes to the audit. */
export function AskReason({
  title,
  children,
  verb,
  keep = 'Keep as is',
  danger,
  optional,
  placeholder,
  onAnswer,
  onClose,
}: AskProps) {
  const [reason, setReason] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const isReady = optional || reason.trim() !== ''

  async function answer(event: FormEvent) {
    event.preventDefault()
    if (!isReady || isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await onAnswer(reason.trim())
      onClose()
    } catch (problem) {
      setError(problem)
      setBusy(false)
    }
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={event => void answer(event)}>
        <div className="quiet-prose">{children}</div>
        <Field
          label={optional ? 'Reason (optional)' : 'Reason'}
          hint="Recorded in the audit log with your name."
          value={reason}
          onChange={setReason}
          placeholder={placeholder}
          maxLength={1_000}
          autoFocus
        />
        {error !== undefined && <ErrorNote error={error} />}
        <div className="row end">
          <Button onPress={onClose}>{keep}</Button>
          <Button
            type="submit"
            look={danger ? 'danger' : 'main'}
            busy={isBusy}
            may={isReady ? undefined : { allowed: false, reason: 'Enter a reason.' }}
          >
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
