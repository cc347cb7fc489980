import { givenFields } from '../../core/options/merge.ts'
import { sendCommands } from '../../operations/fleet-commands.ts'
import { delay } from '../../ports/clock.ts'
import type { CommandRecord, Commands, CommandTask } from '../../ports/commands.ts'
import type { Instance } from '../../ports/fleet.ts'
import type { Store } from '../../ports/store.ts'
import { findInstance } from '../find-by-id.ts'
import type { breakerFlags, fleetFlags, fleetListFlags, storeFlags } from '../flags.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { formatInstance, instanceColour } from '../print/format-instance.ts'
import { jsonLine, toJson } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { ageColumn, type Column, tableOn } from '../print/table.ts'
import { onStore, type Session } from '../session.ts'

/** A process looks for commands every few seconds at most. */
const DEFAULT_WAIT_MS = 10_000
const POLL_MS = 250

export const fleetList = onStore<typeof fleetListFlags>(async ({ store }, { io, flags }) => {
  const all = await fleetOf(store).list()
  const shown = all.filter(({ report }) => (flags.service ?? report.service) === report.service)
  if (flags.json) await io.stdout.write(shown.map(each => jsonLine(toJson(each))).join(''))
  else if (shown.length === 0) await io.stderr.write('no process reports to this store\n')
  else await io.stdout.write(tableOn(io, columnsOf(io)).page(shown))
})

export const fleetShow = onStore<typeof storeFlags>(async ({ store }, { io, args, flags }) => {
  fleetOf(store)
  const instance = await findInstance(store, args[0]!)
  const text = flags.json
    ? jsonLine(toJson(instance))
    : formatInstance(instance, io.clock.now(), paintFor(io.stdout, io.env))
  await io.stdout.write(text)
})

export const fleetPause = onStore<typeof fleetFlags>((session, { flags }) => {
  const { channel, handler } = flags
  return command(session, flags, {
    kind: 'pause',
    channel: required('pause', channel),
    ...givenFields({ handler }),
  })
})

export const fleetResume = onStore<typeof fleetFlags>((session, { flags }) => {
  const { channel, handler } = flags
  return command(session, flags, {
    kind: 'resume',
    channel: required('resume', channel),
    ...givenFields({ handler }),
  })
})

export const fleetBreaker = onStore<typeof breakerFlags>((session, { flags }) => {
  const { channel, handler, sink, to } = flags
  if (to === undefined) throw new UsageError('fleet breaker: --to is missing; give open, closed or auto')
  if ((channel === undefined) === (sink === undefined))
    throw new UsageError('fleet breaker: give either --channel or --sink')
  return command(session, flags, { kind: 'breaker', to, ...givenFields({ channel, handler, sink }) })
})

interface CommandFlags {
  readonly instance?: string | undefined
  readonly service?: string | undefined
  readonly reason?: string | undefined
  readonly wait?: number | undefined
  readonly json?: boolean | undefined
}

/** Sends the command, waits for the outcomes, and prints one line for each process. */
async function command(session: Session, flags: CommandFlags, task: CommandTask): Promise<ExitCode> {
  const { io, store, by } = session
  const { service, reason } = flags
  const instance = flags.instance && (await findInstance(store, flags.instance)).report.id
  const sent = await sendCommands(store, { task, instance, service, reason, by }, io.clock)
  const records = await outcomesOf(io, store.commands!, sent.request, flags.wait ?? DEFAULT_WAIT_MS)
  const hosts = new Map(sent.recipients.map(({ report }) => [report.id, report]))
  for (const record of records) {
    const [id] = record.command.recipients as [string]
    const report = hosts.get(id)!
    if (flags.json) await io.stdout.write(jsonLine(toJson(record)))
    else
      await io.stdout.write(
        `${safeText(report.service)} ${id} on ${safeText(report.host)}: ${describe(record)}\n`,
      )
  }
  const done = records.filter(({ state }) => state === 'done').length
  return done === records.length ? 0 : done > 0 ? 3 : 1
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

function columnsOf(io: Io): Column<Instance>[] {
  return [
    { title: 'ID', cell: ({ report }) => report.id },
    { title: 'SERVICE', cell: ({ report }) => safeText(report.service), shrinksTo: 12 },
    { title: 'VERSION', cell: ({ report }) => safeText(report.version ?? '-'), dropAt: 3 },
    { title: 'STATE', cell: ({ state }) => state, colour: ({ state }) => instanceColour(state) },
    ageColumn(io, 'LAST SEEN', ({ silentMs }) => io.clock.now() - silentMs),
    {
      title: 'HOST',
      cell: ({ report }) => `${safeText(report.host)}:${report.pid}`,
      shrinksTo: 10,
      dropAt: 4,
    },
    { title: 'CONSUMERS', cell: ({ report }) => String(report.consumers.length), dropAt: 1 },
    { title: 'SINKS', cell: ({ report }) => String(report.sinks.length), dropAt: 2 },
    {
      title: 'ATTENTION',
      cell: attentionOf,
      colour: each => (attentionOf(each) === '-' ? undefined : 'yellow'),
    },
  ]
}

/** The consumers and sinks that do not work as usual. */
function attentionOf({ report }: Instance): string {
  const paused = report.consumers.filter(({ paused }) => paused.length > 0).length
  const open = [...report.consumers, ...report.sinks].filter(({ breaker }) => /open/.test(breaker)).length
  const parts = [
    ...(open === 0 ? [] : [`${open} breaker open`]),
    ...(paused === 0 ? [] : [`${paused} paused`]),
  ]
  return parts.length === 0 ? '-' : parts.join(', ')
}

function fleetOf({ fleet, url }: Store) {
  if (fleet === undefined)
    throw new FailedError(
      `${url} keeps no fleet; use the sqlite:, postgres: or redis: store that the services share`,
    )
  return fleet
}

function required(verb: string, channel: string | undefined): string {
  if (channel === undefined) throw new UsageError(`fleet ${verb}: --channel is missing; give --channel NAME`)
  return channel
}
