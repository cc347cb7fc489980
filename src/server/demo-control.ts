import type { DemoState } from './schema/demo.ts'

/** What the demo lets a person do beside what any server does. */
export interface DemoControl {
  /** Returns the current state of the demo. */
  state(): DemoState
  /** `by` is who pressed the button. An action that there is none of rejects with UnknownActionError. */
  act(action: string, by: string): Promise<DemoState>
}

/** The demo has no action of this name. */
export class UnknownActionError extends Error {
  override readonly name = 'UnknownActionError'

  constructor(action: string, actions: readonly string[]) {
    super(`there is no action '${action}'; it is one of ${actions.join(', ')}`)
  }
}
