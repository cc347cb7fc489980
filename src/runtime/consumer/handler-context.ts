import { AttemptContext } from '../attempt-context.ts'

/** What a handler can know of the attempt it is. */
export class HandlerContext extends AttemptContext {
  /** Which replay of the event this is; 0 for its first life. */
  readonly replay: number

  constructor(attempt: number, replay: number) {
    super(attempt)
    this.replay = replay
  }
}
