import { Component, type ReactNode } from 'react'
import { Button } from '../ui/buttons.tsx'
import { Note } from '../ui/notes.tsx'

/** A screen that breaks takes neither the others nor the way out of it along. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <Note tone="bad">
        <strong>This page stopped working</strong>
        <span className="external-text">{error instanceof Error ? error.message : String(error)}</span>
        <span>The console may have been updated while it was open. Reload it; no data is lost.</span>
        <Button onPress={() => location.reload()}>Reload page</Button>
      </Note>
    )
  }
}
