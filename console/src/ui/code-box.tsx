import type { ReactNode } from 'react'
import './code.css'

/** Text of a machine, as it is. A box that scrolls has to be reachable by the keyboard, and to have a name. */
export function CodeBox({
  label,
  look = '',
  children,
}: {
  label: string
  look?: string
  children: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className={`code ${look}`} aria-label={label} tabIndex={0}>
      <pre>{children}</pre>
    </section>
  )
}
