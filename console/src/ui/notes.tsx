import type { ReactNode } from 'react'
import { ApiProblem } from '../api/client.ts'
import type { StoreFault } from '../api/types.ts'
import { Icon } from './icons.tsx'
import './notes.css'

/** Nothing to show, which is news too: what it means and where to go from here. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <svg width="72" height="28" viewBox="0 0 72 28" aria-hidden="true" focusable="false">
        <path d="M2 18c5.7 0 5.7-4 11.3-4s5.7 4 11.3 4 5.7-4 11.4-4 5.6 4 11.3 4 5.7-4 11.4-4 5.6 4 11.3 4" />
        <path d="M14 25c4.4 0 4.4-3 8.8-3s4.4 3 8.8 3 4.4-3 8.8-3 4.4 3 8.8 3 4.4-3 8.8-3" />
      </svg>
      <h2>{title}</h2>
      {children && <div className="quiet">{children}</div>}
    </div>
  )
}

/** What went wrong, in the server's own words, with what to do. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => unknown }) {
  const problem = error instanceof ApiProblem ? error : undefined
  return (
    <div className="note bad" role="alert">
      <Icon name="cross" />
      <div>
        <strong>{problem?.title ?? 'Unexpected error in the console'}</strong>
        <p className="external-text">{error instanceof Error ? error.message : String(error)}</p>
        {problem && problem.faults.length > 0 && (
          <ul className="faults">
            {problem.faults.map(fault => (
              <li key={fault.path + fault.remedy} className="external-text">
                <code>{fault.path}</code>: {fault.remedy}
              </li>
            ))}
          </ul>
        )}
        {onRetry && (
          <button type="button" className="button" onClick={() => void onRetry()}>
            Try again
          </button>
        )}
      </div>
    </div>
  )
}

export function Note({ tone, children }: { tone: 'signal' | 'sea' | 'good' | 'bad'; children: ReactNode }) {
  return (
    <div className={`note ${tone}`}>
      <Icon
        name={tone === 'good' ? 'check' : tone === 'bad' ? 'cross' : tone === 'signal' ? 'flag' : 'dots'}
      />
      <div>{children}</div>
    </div>
  )
}

/** Part of what is shown is missing, because a store did not answer. */
export function MissingData({ faults }: { faults: readonly StoreFault[] | undefined }) {
  if (faults === undefined || faults.length === 0) return null
  return (
    <Note tone="signal">
      <strong>Some data is missing.</strong>{' '}
      {faults.map(fault => (
        <span key={fault.store} className="external-text">
          Store {fault.store} did not respond: {fault.problem}.{' '}
        </span>
      ))}
    </Note>
  )
}

/** Holds the room of what is on its way, so that nothing jumps when it comes. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div className="waiting" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are identical
        <div key={index} />
      ))}
    </div>
  )
}
