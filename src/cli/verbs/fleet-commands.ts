import { givenFields } from '../../core/options/merge.ts'
import { sendCommands } from '../../operations/fleet-commands.ts'
import { delay } from '../../ports/clock.ts'
import type { CommandRecord, Commands, CommandTask } from '../../ports/commands.ts'
import type { InstanceReport } from '../../ports/fleet.ts'
import { maskedOutcome } from '../../server/views/command-result.ts'
import { findInstance, findLetter } from '../find-by-id.ts'
import type { breakerFlags, fleetFlags, partFlags, resendFlags } from '../flags.ts'
import { type ExitCode, type Io, UsageError } from '../io.ts'
import { resultLines } from '../print/format-command-result.ts'
import { jsonLine, toJson } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { onStore, type Session } from '../session.ts'

/** A process looks for commands every few seconds at most. */
const DEFAULT_WAIT_MS = 10_000
/** A sink has this time, and a little more, for its letters. */
const RESEND_WAIT_MS = 30_000
const POLL_MS = 250

export const fleetPause = consumerCommand('pause')
export const fleetResume = consumerCommand('resume')

function consumerCommand(kind: 'pause' | 'resume') {
  return onStore<typeof fleetFlags>((session, { flags }) => {
    const { channel, handler } = flags
    return command(session, flags, { kind, channel: required(kind, channel), ...givenFields({ handler }) })
  })
}

export const fleetBreaker = onStore<typeof breakerFlags>((session, { flags }) => {
  const { to } = flags
  if (to === undefined) throw new UsageError('fleet breaker: --to is missing; give open, closed or auto')
  return command(session, flags, { kind: 'breaker', to, ...eitherPart('breaker', flags) })
})

export const fleetProbe = onStore<typeof partFlags>((session, { flags }) =>
  command(session, flags, { kind: 'probe', ...eitherPart('probe', flags) }),
)

export const fleetValidate = onStore<typeof fleetFlags>(async (session, { args, flags }) => {
  const { handler } = flags
  const channel = required('validate', flags.channel)
  const letters = await letterIds(session, args)
  return command(session, flags, { kind: 'validate', channel, ...givenFields({ handler, letters }) })
})

export const fleetResend = onStore<typeof resendFlags>(async (session, { args, flags }) => {
  const { sink } = flags
  if (sink === undefined) throw new UsageError('fleet resend: --sink is missing; give --sink NAME')
  const letters = await letterIds(session, args)
  const waits = { ...flags, wait: flags.wait ?? RESEND_WAIT_MS }
  return command(session, waits, { kind: 'resend', sink, ...givenFields({ letters }) })
})

interface PartNames {
  readonly channel?: string | undefined
  readonly handler?: string | undefined
  readonly sink?: string | undefined
}

interface CommandFlags {
  readonly instance?: string | undefined
  readonly service?: string | undefined
  readonly reason?: string | undefined
  readonly any?: boolean | undefined
  readonly wait?: number | undefined
  readonly json?: boolean | undefined
}

/** Sends the command, waits for the outcomes, and prints one line for each process. */
async function command(session: Session, flags: CommandFlags, task: CommandTask): Promise<ExitCode> {
  const { io, store, by, masks } = session
  const { service, reason } = flags
  const instance = flags.instance && (await findInstance(store, flags.instance)).report.id
  const recipients = flags.any ? 'any' : undefined
  const sent = await sendCommands(store, { task, instance, service, recipients, reason, by }, io.clock)
  const records = await outcomesOf(io, store.commands!, sent.request, flags.wait ?? DEFAULT_WAIT_MS)
  const reports = new Map(sent.recipients.map(({ report }) => [report.id, report]))
  for (const record of records) {
    const shown = await masked(record)
    if (flags.json) await io.stdout.write(jsonLine(toJson(shown)))
    else
      await io.stdout.write(
        `${whoOf(shown, reports)}: ${describe(shown)}\n${resultLines(task.kind, shown.outcome).join('')}`,
      )
  }
  const done = records.filter(({ state }) => state === 'done').length
  return done === records.length ? 0 : done > 0 ? 3 : 1

  async function masked(record: CommandRecord): Promise<CommandRecord> {
    const { outcome } = record
    return outcome === undefined
      ? record
      : { ...record, outcome: await maskedOutcome(outcome, task, store, masks) }
  }
}

/** The process that a command is for or that took it, or the number of those that may take it. */
function whoOf(
  { command: { recipients }, claimedBy }: CommandRecord,
  reports: ReadonlyMap<string, InstanceReport>,
): string {
  const id = claimedBy ?? (recipients.length === 1 ? recipients[0] : undefined)
  const report = id === undefined ? undefined : reports.get(id)
  if (report === undefined) return `any of ${recipients.length} processes`
  return `${safeText(report.service)} ${id} on ${safeText(report.host)}`
}

async function outcomesOf(
  io: Io,
  commands: Commands,
  request: string,
  waitMs: number,
): Promise<readonly CommandRecord[]> {
  const until = io.clock.now() + waitMs
  for (;;) {
    const records = await commands.get(request)
    if (records.every(({ outcome }) => outcome !== undefined) || io.clock.now() >= until) return records
    await delay(io.clock, POLL_MS)
  }
}

function describe({ state, outcome }: CommandRecord): string {
  if (outcome?.ok === false) return `failed: ${safeText(outcome.error)}`
  if (state === 'waiting') return 'not taken yet; it expires within a minute'
  if (state === 'claimed') return 'taken; the outcome is not known yet'
  return state
}

function required(verb: string, channel: string | undefined): string {
  if (channel === undefined) throw new UsageError(`fleet ${verb}: --channel is missing; give --channel NAME`)
  return channel
}

function eitherPart(verb: string, { channel, handler, sink }: PartNames) {
  if ((channel === undefined) === (sink === undefined))
    throw new UsageError(`fleet ${verb}: give either --channel or --sink`)
  return givenFields({ channel, handler, sink })
}

/** The whole ids of the letters that were typed; undefined when none was. */
async function letterIds({ store }: Session, typed: readonly string[]): Promise<string[] | undefined> {
  if (typed.length === 0) return undefined
  const letters = await Promise.all(typed.map(id => findLetter(store, id)))
  return letters.map(({ id }) => id)
}
