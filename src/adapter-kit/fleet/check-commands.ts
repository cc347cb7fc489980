// What every store takes for a command, and how it tells what became of one.
import { group, resolveBy } from '../../core/options/resolve.ts'
import {
  custom,
  integer,
  list,
  milliseconds,
  optional,
  type RulesFor,
  text,
} from '../../core/options/rules.ts'
import type {
  Command,
  CommandOutcome,
  CommandRecord,
  CommandState,
  CommandTask,
} from '../../ports/commands.ts'
import { instanceIdRule } from './check-report.ts'

const MAX_COMMANDS = 10_000
const MAX_RECIPIENTS = 10_000
const MAX_TTL_MS = 86_400_000
/** Characters of JSON. A task names letters or a breaker; it does not carry payloads. */
const MAX_JSON = 1_000_000

const commandRules: RulesFor<Command> = {
  v: custom((value): value is 1 => value === 1, 'give 1'),
  id: instanceIdRule,
  request: instanceIdRule,
  task: custom(isTask, `give an object with a kind that is at most ${MAX_JSON} characters of JSON`),
  recipients: list(instanceIdRule, { maxItems: MAX_RECIPIENTS }),
  by: text(),
  reason: optional(text()),
}

const commandsRule = list(group(commandRules), { maxItems: MAX_COMMANDS })
const ttlRule = milliseconds({ above: true, max: MAX_TTL_MS })
const limitRule = integer({ min: 1, max: 10_000 })
const outcomeRule = custom(
  isOutcome,
  `give { ok: true, result } or { ok: false, error } of at most ${MAX_JSON} characters of JSON`,
)

/** A command to store: the whole as JSON, and what a store finds it by. */
export interface NewCommandRow extends Pick<Command, 'id' | 'request' | 'recipients'> {
  readonly body: string
  readonly ttlMs: number
}

/** The rows of commands. Throws an OptionsError for an invalid command. */
export function commandRows(commands: readonly Command[], ttlMs: number): readonly NewCommandRow[] {
  const checked = resolveBy('commands', commandsRule, commands)
  const ttl = Math.ceil(resolveBy('ttlMs', ttlRule, ttlMs))
  return checked.map(command => {
    const { id, request, recipients } = command
    return { id, request, recipients, body: JSON.stringify(command), ttlMs: ttl }
  })
}

/** Checks the number of commands that a claim or a list asks for. Throws an OptionsError. */
export function resolveLimit(limit: number): number {
  return resolveBy('limit', limitRule, limit)
}

/** The outcome as JSON. Throws an OptionsError for one that is not an outcome. */
export function outcomeText(outcome: CommandOutcome): string {
  return JSON.stringify(resolveBy('outcome', outcomeRule, outcome))
}

/** What a store knows of a command. `outcome` is JSON. */
export interface CommandRow {
  readonly body: string
  readonly sentAt: number
  readonly ttlMs: number
  readonly claimedBy?: string | null | undefined
  readonly claimedAt?: number | null | undefined
  /** The time of the outcome. Without an outcome, the time at which somebody found that the command is over. */
  readonly endedAt?: number | null | undefined
  readonly outcome?: string | null | undefined
}

/** The commands of these texts. One that this version cannot read is left out, because it must not hold up the others. */
export function commandsOf(bodies: readonly string[]): readonly Command[] {
  return bodies.flatMap(body => readCommand(body) ?? [])
}

/** What became of commands, at a time of the store's clock. A command that this version cannot read is left out. */
export function commandRecords(rows: readonly CommandRow[], now: number): readonly CommandRecord[] {
  return rows.flatMap(row => {
    const command = readCommand(row.body)
    return command === undefined ? [] : [recordOf(command, row, now)]
  })
}

/** Checks only what readers rely on: `send` has checked the rest. */
function readCommand(body: string): Command | undefined {
  const command = readJson(body)
  if (!isRecord(command)) return undefined
  const { v, id, request, task, recipients, by } = command as Partial<Command>
  const isReadable =
    v === 1 &&
    [id, request, by].every(each => typeof each === 'string') &&
    isTask(task) &&
    Array.isArray(recipients)
  return isReadable ? (command as unknown as Command) : undefined
}

function readOutcome(text: string): CommandOutcome {
  const outcome = readJson(text)
  return isOutcome(outcome) ? outcome : { ok: false, error: 'this version cannot read the outcome' }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function recordOf(command: Command, row: CommandRow, now: number): CommandRecord {
  const outcome = row.outcome == null ? undefined : readOutcome(row.outcome)
  return {
    command,
    state: stateOf(row, outcome, now),
    sentAt: row.sentAt,
    expiresAt: row.sentAt + row.ttlMs,
    ...(row.claimedBy != null && claimOf(row.claimedBy, row.claimedAt!, now)),
    ...(outcome !== undefined && { endedAt: row.endedAt!, outcome }),
  }
}

/** The absolute difference also covers a clock that was set back. */
function claimOf(claimedBy: string, claimedAt: number, now: number) {
  return { claimedBy, claimedAt, claimedAgoMs: Math.abs(now - claimedAt) }
}

/**
 * A command from the future was sent before the clock was set back: after its time it counts no longer. One that was found
 * over stays so, also when the clock comes round to its time again.
 */
export function isOver({ sentAt, ttlMs, endedAt }: Omit<CommandRow, 'body'>, now: number): boolean {
  return endedAt != null || Math.abs(now - sentAt) >= ttlMs
}

/** The commands that are over, and whose rows do not say so yet. A reader writes it into them before it answers. */
export function newlyOver<Row extends CommandRow>(rows: readonly Row[], now: number): readonly Row[] {
  return rows.filter(row => row.endedAt == null && isOver(row, now))
}

function stateOf(row: CommandRow, outcome: CommandOutcome | undefined, now: number): CommandState {
  if (outcome !== undefined) return outcome.ok ? 'done' : 'failed'
  if (row.claimedBy != null) return isOver(row, now) ? 'unanswered' : 'claimed'
  return isOver(row, now) ? 'expired' : 'waiting'
}

function isTask(value: unknown): value is CommandTask {
  if (!isRecord(value)) return false
  const { kind } = value
  return typeof kind === 'string' && kind !== '' && isShortJson(value)
}

function isOutcome(value: unknown): value is CommandOutcome {
  if (!isRecord(value) || !isShortJson(value)) return false
  const { ok, error } = value
  return ok === true || (ok === false && typeof error === 'string')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isShortJson(value: unknown): boolean {
  try {
    return JSON.stringify(value).length <= MAX_JSON
  } catch {
    return false
  }
}
