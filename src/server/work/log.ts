import type { Logger } from '../../ports/logger.ts'
import type { Replay, ReplayState } from '../../ports/replays.ts'
import { type LogLine, writeLine } from '../../runtime/log/aggregator.ts'

const COLLECTING: LogLine = { what: 'collecting_began', level: 'info', message: 'collecting began' }
const COLLECTED: LogLine = { what: 'collecting_ended', level: 'info', message: 'collecting ended' }
const RUNNING: LogLine = { what: 'replay_running', level: 'info', message: 'replay runs on this server' }
/** `running`: this server closes and has stopped at a safe point; another server continues the replay. */
const ENDED: Partial<Record<ReplayState, LogLine>> = {
  running: { what: 'replay_left', level: 'info', message: 'replay handed over to another server' },
  paused: { what: 'replay_paused', level: 'info', message: 'replay paused' },
  halted: { what: 'replay_halted', level: 'warn', message: 'replay halted by its rules' },
  cancelled: { what: 'replay_cancelled', level: 'info', message: 'replay cancelled' },
  finished: { what: 'replay_finished', level: 'info', message: 'replay finished' },
}

const SIGNED_IN: LogLine = { what: 'signed_in', level: 'info', message: 'a person signed in' }
const SIGN_IN_FAILED: LogLine = { what: 'sign_in_failed', level: 'warn', message: 'a sign-in failed' }
const PROVIDER_DOWN: LogLine = {
  what: 'sign_in_provider_down',
  level: 'warn',
  message: 'nobody can sign in until the provider answers; the server asks it again at each sign-in',
}

/** Logs the background work of the server: collecting and replays; and who signs in. */
export class ServerLog {
  readonly #logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.#logger = logger
  }

  collecting(collector: string, isOn: boolean): void {
    this.#write(isOn ? COLLECTING : COLLECTED, { collector })
  }

  replayRunning(replayId: string, store: string): void {
    this.#write(RUNNING, { replayId, store })
  }

  replayEnded({ id: replayId, state, count, stateReason, by }: Replay, store: string): void {
    const line = ENDED[state]
    if (line !== undefined) this.#write(line, { replayId, store, count, stateReason, by })
  }

  signedIn(by: string): void {
    this.#write(SIGNED_IN, { by })
  }

  signInFailed(problem: string, error: string): void {
    this.#write(SIGN_IN_FAILED, { problem, error })
  }

  providerDown(issuer: string, error: string): void {
    this.#write(PROVIDER_DOWN, { issuer, error })
  }

  #write(line: LogLine, fields: Readonly<Record<string, unknown>>): void {
    if (this.#logger !== undefined) writeLine(this.#logger, line, fields)
  }
}
