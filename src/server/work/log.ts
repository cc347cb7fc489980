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

/** Logs the background work of the server: collecting and replays. */
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

  #write(line: LogLine, fields: Readonly<Record<string, unknown>>): void {
    if (this.#logger !== undefined) writeLine(this.#logger, line, fields)
  }
}
