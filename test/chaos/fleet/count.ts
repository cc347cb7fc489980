import type { Pool } from 'pg'
import { ORDERS, SINKS } from '../../fleet/shop/settings.ts'
import { PEOPLE, type Person } from './plan.ts'
import { findSentAgain, type SendEvidence, type SentAgain } from './sent-again.ts'

/** What happened outside of Lazaret, as the campaign saw it. */
export interface Evidence extends SendEvidence {
  readonly confirmedOrders: readonly string[]
  /** The ids of events that arrived at a system behind the shop. */
  readonly taken: (name: string) => ReadonlyMap<string, number>
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
  readonly sentAfterCrash: number
  /** Sent again after the sender stood still for longer than its lease while it sent. */
  readonly sentAfterStall: number
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
  const sentAgain = findSentAgain(evidence)
  const countOf = (reason: SentAgain['why']) => sentAgain.filter(({ why }) => why === reason).length
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
    sentTwice: countOf('fault'),
    sentAfterCrash: countOf('crash'),
    sentAfterStall: countOf('stall'),
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

/** The deliveries in the order of sending, with the items as they are at the end: JSON, for people. */
export async function readDeliveries(pool: Pool): Promise<string> {
  const deliveries = `select id, sent_at, claimed_by, claimed_at, ended_at, body->'task' as task, outcome
    from lazaret.commands where body->'task'->>'kind' = 'deliver' order by seq`
  const items = 'select replay_id, body from lazaret.replay_items order by replay_id, position'
  const [sent, ended] = [(await pool.query(deliveries)).rows, (await pool.query(items)).rows]
  return JSON.stringify({ deliveries: sent, items: ended }, undefined, 2)
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
