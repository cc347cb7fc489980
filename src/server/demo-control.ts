import type { DemoState } from './schema/demo.ts'

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
