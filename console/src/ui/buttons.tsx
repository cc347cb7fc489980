import { type ReactNode, useId } from 'react'
import { Link } from 'wouter'
import type { Permission } from '../api/types.ts'
import './buttons.css'

type Look = 'plain' | 'main' | 'signal' | 'danger' | 'quiet'

interface ButtonProps {
  readonly children: ReactNode
  readonly look?: Look
  readonly type?: 'button' | 'submit'
  readonly busy?: boolean
  readonly label?: string
  /** Whether it may be pressed; a button that may not stays in sight and says why. */
  readonly may?: Permission | undefined
  /** The key that does the same. */
  readonly hotkey?: 'r' | 'c' | undefined
  readonly onPress?: () => void
}

/**
 * A forbidden action is not hidden: its button stays focusable, refuses to act, and shows its reason on the screen and
 * to screen readers.
 */
export function Button({
  children,
  look = 'plain',
  type = 'button',
  busy = false,
  label,
  may,
  hotkey,
  onPress,
}: ButtonProps) {
  const whyId = useId()
  const isDenied = may !== undefined && !may.allowed
  const button = (
    <button
      type={isDenied ? 'button' : type}
      className={`button ${look}`}
      aria-disabled={isDenied || busy || undefined}
      aria-describedby={isDenied ? whyId : undefined}
      aria-label={label}
      aria-keyshortcuts={hotkey}
      data-key={hotkey}
      onClick={event => {
        if (isDenied || busy) event.preventDefault()
        else onPress?.()
      }}
    >
      {children}
      {busy && <span className="unseen"> (in progress)</span>}
    </button>
  )
  if (!isDenied) return button
  return (
    <span className="denied">
      {button}
      <span role="tooltip" id={whyId} className="why">
        {may.reason ?? 'You do not have permission.'}
      </span>
    </span>
  )
}

/** Looks like a button, goes like a link. */
export function LinkButton({
  href,
  look = 'plain',
  may,
  hotkey,
  children,
}: {
  href: string
  look?: Look
  may?: Permission | undefined
  hotkey?: 'r' | 'c'
  children: ReactNode
}) {
  if (may !== undefined && !may.allowed)
    return (
      <Button look={look} may={may} hotkey={hotkey}>
        {children}
      </Button>
    )
  return (
    <Link href={href} className={`button ${look}`} aria-keyshortcuts={hotkey} data-key={hotkey}>
      {children}
    </Link>
  )
}
