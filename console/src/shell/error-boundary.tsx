import { Component, type ReactNode } from 'react'
import type { StreamState } from '../api/stream.ts'
import { forgetFailedScreens, ScreenNotLoadedError } from '../screens/late-screen.tsx'
import { Button } from '../ui/buttons.tsx'
import { Note } from '../ui/notes.tsx'

interface ErrorBoundaryProps {
  readonly stream: StreamState
  readonly children: ReactNode
}

/** A screen that breaks takes neither the others nor the way out of it along. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  /** A screen whose files the server did not give is loaded when the server is back. */
  override componentDidUpdate({ stream }: ErrorBoundaryProps) {
    const isBack = this.props.stream === 'live' && stream !== 'live'
    if (isBack && this.state.error instanceof ScreenNotLoadedError) this.#loadAgain()
  }

  #loadAgain() {
    forgetFailedScreens()
    this.setState({ error: undefined })
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    if (error instanceof ScreenNotLoadedError)
      return (
        <Note tone="bad">
          <strong>This page could not be loaded</strong>
          <span>Check that the server is running and reachable from this machine.</span>
          <Button onPress={() => this.#loadAgain()}>Try again</Button>
          <span className="small">
            If that does not help, the console was updated while it was open: reload the page.
          </span>
        </Note>
      )
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
