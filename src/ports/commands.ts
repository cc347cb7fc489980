/** What a person asks of the processes of a fleet. To a store the task is any JSON object. */
export interface Command {
  readonly v: 1
  readonly id: string
  /** Commands of one request have the same: a request to all processes of a service is one command for each of them. */
  readonly request: string
  readonly task: CommandTask
  /** The instances that may execute it. The first one that claims it does. */
  readonly recipients: readonly string[]
  /** The person or token that asked. */
  readonly by: string
  readonly reason?: string | undefined
}

/** Names what to do, and with what. Its other fields depend on the kind. */
export interface CommandTask {
  readonly kind: string
  readonly [field: string]: unknown
}

/** What an instance answers: the result of the task, or why it failed. */
export type CommandOutcome =
  | { readonly ok: true; readonly result?: unknown }
  | { readonly ok: false; readonly error: string }

/**
 * `waiting` ─▶ `claimed` ─▶ `done` or `failed`. A command that nobody claims in time is `expired` and is never executed. A
 * claimed command without an outcome is `unanswered` when its time is over: its instance died, hangs or lost the store, and
 * nobody knows whether the task was done. An expired command stays expired. An unanswered one can only get its outcome late.
 */
export type CommandState = 'waiting' | 'claimed' | 'done' | 'failed' | 'expired' | 'unanswered'

/** A command, and what became of it. Times are by the store's clock. */
export interface CommandRecord {
  readonly command: Command
  readonly state: CommandState
  readonly sentAt: number
  readonly expiresAt: number
  readonly claimedBy?: string | undefined
  readonly claimedAt?: number | undefined
  /**
   * How long ago it was claimed, by the store's clock, so that nobody compares the clock of the store with another one. Never
   * negative: after the clock was set back it is the distance to `claimedAt`. A store of an earlier version does not state it.
   */
  readonly claimedAgoMs?: number | undefined
  readonly endedAt?: number | undefined
  readonly outcome?: CommandOutcome | undefined
}

/**
 * Commands to the processes of a fleet. Each is executed once, or not at all and then that is said.
 *
 * - `send` stores all of the commands or none, durably. An id that is stored already is left as it is, so a repeated
 *   `send` changes nothing. `ttlMs` is the time for a claim and an outcome, by the store's clock. An invalid command is
 *   refused with an OptionsError.
 * - `claim` gives an instance the oldest commands it is a recipient of, at most `limit` of them. It is atomic: a command is
 *   claimed once, however many claim at once, and is never given out again, also if the claimer dies. Expired commands are
 *   not given out.
 * - A command is over when the clock is `ttlMs` away from the time it was sent, before or after it. So a clock that is set
 *   back by an hour does not keep it waiting for that hour. What a call of `claim`, `get` or `list` found over stays over
 *   for every later call, although the clock then comes round to the time of the command again.
 * - `finish` stores the outcome, durably. Only the claimer may, once. It answers whether this call stored it. After the
 *   time is over an outcome is still taken: late news is better than none.
 * - `get` has the commands of a request in the order they were sent; none for an unknown request.
 * - `list` has the newest commands, newest first, at most `limit`.
 * - `purge` deletes the commands that were sent before a time and are over, and answers how many.
 * - `onCommand` (optional) calls the listener soon after a command for this instance was sent. It may call too often and may miss
 *   some, so an instance also claims from time to time. It returns a function that ends it.
 * - After the store was closed all of them reject with a StoreClosedError, and `onCommand` throws it.
 */
export interface Commands {
  send(commands: readonly Command[], ttlMs: number): Promise<void>
  claim(instance: string, limit: number): Promise<readonly Command[]>
  finish(id: string, instance: string, outcome: CommandOutcome): Promise<boolean>
  get(request: string): Promise<readonly CommandRecord[]>
  list(limit: number): Promise<readonly CommandRecord[]>
  purge(before: number): Promise<number>
  onCommand?(instance: string, listener: () => void): () => void
}
