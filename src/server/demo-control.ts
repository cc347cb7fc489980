/** One step of the demo: what happens, whether it has happened, and the button that makes it happen, if it needs one. */
export interface DemoStep {
  id: string
  title: string
  /** What happens in the step. */
  text: string
  /** Whether the step has happened. */
  done: boolean
  /** The action that makes the step happen, with the text of its button. Absent when the step needs none. */
  action?: { id: string; label: string; enabled: boolean } | undefined
  /** The page of the console that shows the step. Absent when there is none. */
  href?: string | undefined
}

/** The state of the demo, as the console shows it. */
export interface DemoState {
  title: string
  /** In order. */
  steps: DemoStep[]
  /** Other facts, such as the seed or the broken services. */
  facts?: Record<string, string | number | boolean> | undefined
}

/** The actions that the demo offers in addition to those of a server. */
export interface DemoControl {
  /** Returns the current state of the demo. */
  state(): DemoState
  /** Runs an action on behalf of `by`. Rejects with UnknownActionError when the demo has no such action. */
  act(action: string, by: string): Promise<DemoState>
}

/** The demo has no action of this name. */
export class UnknownActionError extends Error {
  override readonly name = 'UnknownActionError'

  constructor(action: string, actions: readonly string[]) {
    super(`unknown action '${action}'; use one of ${actions.join(', ')}`)
  }
}
