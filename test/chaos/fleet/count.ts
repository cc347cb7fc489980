import type { Pool } from 'pg'
import type { JournalEntry } from '../../fleet/shop/journal.ts'
import { ORDERS, SINKS } from '../../fleet/shop/settings.ts'
import { type Life, PEOPLE, type Person } from './plan.ts'

/** What happened outside of Lazaret, as the campaign saw it. */
export interface Evidence {
  readonly confirmedOrders: readonly string[]
  /** The ids of events that arrived at a system behind the shop. */
  readonly taken: (name: string) => ReadonlyMap<string, number>
  readonly journal: readonly JournalEntry[]
  readonly lives: readonly Life[]
  /** When Postgres was stopped. */
  readonly restarts: readonly number[]
  /** Requests and replays that the people got an answer for. */
  readonly commands: ReadonlyMap<string, Person>
  readonly replays: ReadonlyMap<string, Person>
}

/** What became of all letters, commands and replays. */
export interface Findings {
  readonly orders: number
  readonly sinkLetters: number
  /** Events that no system behind the shop ever got. */
  readonly lost: number
  /** Letters that are not resolved at the end. */
  readonly open: number
  readonly commands: number
  readonly executed: number
  /** Commands, those of replays included, that were taken more than once. */
  readonly executedTwice: number
  readonly replays: number
  readonly unfinished: number
  readonly sent: number
  /** Sent again, although the first sender had recorded it, or neither it nor the store was away in between. */
  readonly sentTwice: number
  /** Sent again after a crash of the sender, or of the store, between the sending and the record. */
  readonly sentAgain: number
  /** Commands and replays without an entry in the audit log that names the person. */
  readonly unaudited: number
}

export async function collectFindings(pool: Pool, evidence: Evidence): Promise<Findings> {
  const { confirmedOrders, taken, journal } = evidence
  const rows = async <T>(text: string) => (await pool.query(text)).rows as T[]
  const [letters] = await rows<{ open: number }>(
    `select count(*)::int as open from lazaret.dead_letters where state <> 'resolved'`,
  )
  const dead = journal.filter(({ what }) => what === 'dead').map(({ letter }) => letter.split(' '))
  const isLost = ([id, sink]: readonly string[]) => !taken(sink!).has(id!)
  const executing = journal.filter(({ what }) => what === 'executing').map(({ letter }) => letter)
  const commands = await rows<CommandRow>(
    `select request, body->'task'->>'kind' as kind, body->>'by' as by from lazaret.commands`,
  )
  const replays = await rows<ReplayRow>('select id, state from lazaret.replays')
  const audit = await rows<AuditRow>(
    `select by, action, target, detail->>'request' as request from lazaret.audit`,
  )
  const { again, twice } = countSentAgain(evidence)
  return {
    orders: confirmedOrders.length,
    sinkLetters: dead.length,
    lost: confirmedOrders.filter(id => !taken(ORDERS.handler).has(id)).length + dead.filter(isLost).length,
    open: letters!.open,
    commands: commands.filter(isOfPerson).length,
    executed: executing.length,
    executedTwice: executing.length - new Set(executing).size,
    replays: replays.length,
    unfinished: replays.filter(({ state }) => state !== 'finished').length,
    sent: journal.filter(({ what }) => what === 'sending').length,
    sentTwice: twice,
    sentAgain: again,
    unaudited: countUnaudited(commands, replays, audit, evidence),
  }
}

interface CommandRow {
  readonly request: string
  readonly kind: string
  readonly by: string
}
/** Plans validate letters and replays deliver them, by commands of their own. The audit log has the plan and the replay. */
const OF_REPLAYS: readonly string[] = ['validate', 'deliver']

function isOfPerson({ kind }: Pick<CommandRow, 'kind'>): boolean {
  return !OF_REPLAYS.includes(kind)
}

interface ReplayRow {
  readonly id: string
  readonly state: string
}
interface AuditRow {
  readonly by: string
  readonly action: string
  readonly target: string
  readonly request: string | null
}

/** An order that was recorded is never sent again. A sink that ended loses the letters that it held. */
function countSentAgain({ journal, lives, restarts }: Evidence): { again: number; twice: number } {
  const lifeOf = new Map(lives.map(life => [life.pid, life]))
  const byLetter = Map.groupBy(journal, ({ letter }) => letter)
  let again = 0
  let twice = 0
  for (const entries of byLetter.values()) {
    const sends = entries.filter(({ what }) => what === 'sending')
    for (let n = 1; n < sends.length; n++) {
      const [first, second] = [sends[n - 1]!, sends[n]!]
      const life = lifeOf.get(first.pid)
      const within = (at: number | undefined) =>
        at !== undefined && at >= first.at - CRASH_TAKES_MS && at <= second.at
      const isRecorded = entries.some(
        ({ what, pid, at }) => what === 'recorded' && pid === first.pid && at >= first.at && at <= second.at,
      )
      const isCrash = within(life?.killedAt) || restarts.some(within)
      if (isCrash && (life?.kind === 'events' || !isRecorded)) again++
      else twice++
    }
  }
  return { again, twice }
}

/** A crash is noted before it is caused, and a process may work on for a moment. */
const CRASH_TAKES_MS = 1_000

function countUnaudited(
  commands: readonly CommandRow[],
  replays: readonly ReplayRow[],
  audit: readonly AuditRow[],
  evidence: Evidence,
): number {
  const people: readonly string[] = PEOPLE
  const names = new Map<string, string>()
  for (const { by, action, target, request } of audit) names.set(`${action} ${request ?? target}`, by)
  const isNamed = (entry: string, by: string | undefined) => {
    const name = names.get(entry)
    return name !== undefined && people.includes(name) && (by ?? name) === name
  }
  const missing = new Set<string>()
  for (const { request, kind, by } of commands)
    if (isOfPerson({ kind }) && !isNamed(`fleet.${kind} ${request}`, by)) missing.add(request)
  for (const { id, state } of replays) {
    if (!isNamed(`replay.plan ${id}`, evidence.replays.get(id))) missing.add(id)
    if (state !== 'approved' && !isNamed(`replay.start ${id}`, undefined)) missing.add(id)
  }
  const inStore = new Set([...commands.map(({ request }) => request), ...replays.map(({ id }) => id)])
  for (const id of [...evidence.commands.keys(), ...evidence.replays.keys()])
    if (!inStore.has(id)) missing.add(id)
  return missing.size
}

/** How many letters are not resolved and how many replays are not finished, together. */
export async function countOpen(pool: Pool): Promise<number> {
  const open = `select count(*)::int as count from lazaret.dead_letters where state <> 'resolved'`
  const running = `select count(*)::int as count from lazaret.replays where state <> 'finished'`
  const [{ count: letters }] = (await pool.query(open)).rows
  const [{ count: replays }] = (await pool.query(running)).rows
  return letters + replays
}

export function countTaken(taken: Evidence['taken']): number {
  return [ORDERS.handler, ...SINKS].reduce((sum, name) => sum + taken(name).size, 0)
}
