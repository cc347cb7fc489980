import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import './page.css'

interface PageProps {
  /** For the window's title, where `title` may be more than a text. */
  readonly name: string
  readonly title?: ReactNode
  readonly above?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Page({ name, title = name, above, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${name} · Lazaret`
  }, [name])
  return (
    <div className="page">
      <header className="page-head">
        <div className="page-title">
          {above && <div className="above">{above}</div>}
          <h1 className="external-text">{title}</h1>
          {lead && <div className="lead">{lead}</div>}
        </div>
        {actions && <div className="row page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function Panel({
  title,
  aside,
  bare = false,
  children,
}: {
  title?: ReactNode
  aside?: ReactNode
  bare?: boolean
  children: ReactNode
}) {
  return (
    <section className="panel">
      {title && (
        <header className="panel-head">
          <h2>{title}</h2>
          {aside && <div className="row push">{aside}</div>}
        </header>
      )}
      <div className={bare ? 'panel-bare' : 'panel-body'}>{children}</div>
    </section>
  )
}

/** Names and values, side by side. */
export function Facts({ of }: { of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="external-text">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Parts of one page, each with an address of its own. */
export function Tabs({
  label,
  current,
  of,
}: {
  label: string
  current: string
  of: readonly {
    readonly id: string
    readonly name: string
    readonly href: string
    readonly count?: number | undefined
  }[]
}) {
  return (
    <nav className="tabs" aria-label={label}>
      {of.map(tab => (
        <Link key={tab.id} href={tab.href} aria-current={tab.id === current ? 'page' : undefined}>
          {tab.name}
          {tab.count !== undefined && <span className="count">{tab.count}</span>}
        </Link>
      ))}
    </nav>
  )
}
