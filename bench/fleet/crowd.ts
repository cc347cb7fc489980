import { delay, systemClock } from '../../src/ports/clock.ts'
import { openBrowser } from '../../test/services/chromium.ts'
import { type LazaretServer, startLazaret } from '../harness/lazaret-server.ts'
import { milliseconds } from '../harness/load.ts'
import { figure } from '../harness/print.ts'
import { atMost, type Bar, median, type Row, row } from '../harness/result.ts'
import { visitOf, visitsOf } from '../harness/visit.ts'
import { startMembers } from './member-process.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'
import { cpuSeconds, descendantNamed, descendantsOf, memoryMb } from './process-cost.ts'

const SCREEN = '/services'
/** What the screen asks for again and again. */
const POLLED = '/fleet/services'
/** What it asks for at first, and a page of processes. */
const CALLS = [POLLED, '/me', '/fleet']
/** A row of a process or of a consumer. */
const SIGN = 'main tbody tr'
const EMPTY_SCREEN = '/replays'
const EMPTY_SIGN = 'main h1'
const MOST_SCREEN_MS = 1_000
const MOST_SERVER_MB = 300
/** A process keeps one connection for LISTEN. When it starts, its pool opens two more for its report and its first look for commands. */
const CONNECTIONS_EACH = 3
const OTHER_CONNECTIONS = 100
const POLL_MS = 50
const COMMAND_POLL_MS = 1_000
/** A browser asks again after this time. */
const SCREEN_EVERY_MS = 3_000

/** How large and how long the measurement is. */
export interface CrowdSize {
  readonly instances: number
  /** The time over which reports are counted. It is longer if some processes have not reported by then. */
  readonly windowMs: number
  /** How often each time is taken. */
  readonly rounds: number
  /** Open screens that ask again and again while the memory of the server is measured. */
  readonly viewers: number
  /** Whether a browser visits the screen. It needs a built console. */
  readonly hasBrowser: boolean
}

const STATEMENTS = `select sum(n_tup_ins + n_tup_upd) as writes, sum(n_tup_upd) as updates, sum(n_tup_hot_upd) as hot,
    pg_current_wal_lsn() - '0/0'::pg_lsn as wal
  from pg_stat_user_tables where schemaname = 'lazaret'`
const SIZES = `select pg_total_relation_size('lazaret.instances') as instances,
    pg_total_relation_size('lazaret.commands') + pg_total_relation_size('lazaret.command_recipients') as commands,
    (select avg(octet_length(body::text)) from lazaret.instances) as report,
    (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections`

/** Processes that report to one Postgres, and a server that shows them. */
export async function crowdRows(size: CrowdSize): Promise<{ rows: Row[]; bars: Bar[] }> {
  const postgres = await startPostgres(size.instances * CONNECTIONS_EACH + OTHER_CONNECTIONS)
  try {
    const members = await startMembers(postgres.url, size.instances)
    try {
      const load = await loadRows(postgres, members.pid, size)
      tell(load)
      const server = await serverRows(postgres, size)
      return { rows: [...load, ...server.rows], bars: server.bars }
    } finally {
      await members.stop()
    }
  } finally {
    await postgres.close()
  }
}

/** The whole takes minutes. A later part that fails must not hide what is known. */
function tell(rows: readonly Row[]): void {
  for (const { name, median, min, max, unit } of rows)
    process.stderr.write(`${name}: ${figure(median)} ${unit} (${figure(min)} to ${figure(max)})\n`)
}

/** The load of the reports alone, without an open screen. */
async function loadRows(postgres: BenchPostgres, members: number, { instances, windowMs }: CrowdSize) {
  const take = async () => ({
    ...(await postgres.numbers(STATEMENTS)),
    server: cpuSeconds(postgres.pid),
    members: cpuSeconds(members),
  })
  // The connections that only the start needed are closed by then.
  await delay(systemClock, windowMs / 4)
  const before: Readonly<Record<string, number>> = await take()
  let after = before
  const tookMs = await milliseconds(async () => {
    await delay(systemClock, windowMs)
    after = await take()
    while (after['writes']! - before['writes']! < instances) {
      await delay(systemClock, POLL_MS)
      after = await take()
    }
  })
  const grown = (name: string) => after[name]! - before[name]!
  const perSecond = (name: string) => (grown(name) / tookMs) * 1_000
  const sizes = await postgres.numbers(SIZES)
  const backends = descendantsOf(postgres.pid)
  const backendMb = backends.reduce((sum, pid) => sum + memoryMb(pid, 'smaps_rollup', 'Pss'), 0)
  const one = (name: string, unit: string, value: number) =>
    row(`${instances} processes: ${name}`, unit, [value])
  return [
    one('writes', 'rows/s', perSecond('writes')),
    one('updates beside the old row (HOT)', '%', (100 * grown('hot')) / grown('updates')),
    one('log of the database', 'kB/s', perSecond('wal') / 1_000),
    one('CPU of Postgres', 'ms/s', 1_000 * perSecond('server')),
    one('CPU of a process for its presence', 'ms/s', (1_000 * perSecond('members')) / instances),
    one('one report', 'bytes', sizes['report']!),
    one('table of the processes, with index', 'kB', sizes['instances']! / 1_000),
    one('tables of commands, with indexes', 'kB', sizes['commands']! / 1_000),
    one('connections', 'connections', sizes['connections']!),
    one('memory of Postgres for each connection', 'MB', backendMb / backends.length),
  ]
}

async function serverRows(postgres: BenchPostgres, size: CrowdSize) {
  const { instances, rounds } = size
  const server = await startLazaret(postgres.url)
  const named = (name: string) => `${instances} processes: ${name}`
  try {
    const rows: Row[] = []
    for (const path of CALLS) {
      const url = `${server.url}/api/v1${path}`
      const times: number[] = []
      let bytes = 0
      const cpuBefore = cpuSeconds(server.pid)
      for (let round = 0; round <= rounds; round++)
        times.push(await milliseconds(async () => (bytes = (await read(url)).length)))
      rows.push(
        row(named(`GET ${path}, first`), 'ms', times.slice(0, 1)),
        row(named(`GET ${path}, then`), 'ms', times.slice(1)),
        row(named(`GET ${path}, CPU of the server`), 'ms', [
          (1_000 * (cpuSeconds(server.pid) - cpuBefore)) / times.length,
        ]),
        row(named(`GET ${path}, answer`), 'kB', [bytes / 1_000]),
      )
    }
    if (size.hasBrowser) {
      const { own, again, empty, cpuMs } = await visits(server, rounds)
      rows.push(
        row(named('Services screen in a browser'), 'ms', own),
        row(named('Services screen, second visit'), 'ms', again),
        row(named('Services screen, CPU of browser and server'), 'ms', cpuMs),
        row(named('a screen without rows in the same browser'), 'ms', empty),
        row(
          named('Services screen ÷ screen without rows'),
          'ratio',
          own.map((ms, round) => ms / empty[round]!),
        ),
      )
    }
    rows.push(...(await viewersRows(server.url, server.pid, size)))
    const memory = named('server, most resident memory')
    rows.push(row(memory, 'MB', [memoryMb(server.pid, 'status', 'VmHWM')]))
    tell(rows)
    rows.push(...(await pauseRows(server.url, named)))
    const screen = rows.find(({ name }) => name === named('Services screen in a browser'))
    return {
      rows,
      bars: [
        ...(screen === undefined ? [] : [atMost(`${screen.name}, ms`, screen.median, MOST_SCREEN_MS)]),
        atMost(`${memory}, MB`, median(rows, memory), MOST_SERVER_MB),
      ],
    }
  } finally {
    await server.stop()
  }
}

/** Two visits to the screen, and in turn one to a screen without rows, which shows how busy the machine is. The first visits are not counted. */
async function visits({ url, pid }: LazaretServer, rounds: number) {
  const browser = await openBrowser()
  const browserPid = descendantNamed(process.pid, 'chrom')
  const cpuMs = () => 1_000 * (cpuSeconds(browserPid) + cpuSeconds(pid))
  try {
    const own: number[] = []
    const again: number[] = []
    const empty: number[] = []
    const used: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const before = cpuMs()
      const [first, second] = await visitsOf(browser, url + SCREEN, SIGN, 2)
      used.push((cpuMs() - before) / 2)
      own.push(first!.ms)
      again.push(second!.ms)
      empty.push((await visitOf(browser, url + EMPTY_SCREEN, EMPTY_SIGN)).ms)
    }
    return { own: own.slice(1), again: again.slice(1), empty: empty.slice(1), cpuMs: used.slice(1) }
  } finally {
    await browser.close()
  }
}

/** Screens that stay open ask as browsers do. */
async function viewersRows(url: string, pid: number, { instances, viewers, windowMs }: CrowdSize) {
  const cpuBefore = cpuSeconds(pid)
  const until = systemClock.now() + windowMs
  const view = async (number: number) => {
    await delay(systemClock, (SCREEN_EVERY_MS * number) / viewers)
    while (systemClock.now() < until) {
      await read(`${url}/api/v1${POLLED}`)
      await delay(systemClock, SCREEN_EVERY_MS)
    }
  }
  const tookMs = await milliseconds(() =>
    Promise.all(Array.from({ length: viewers }, (_, number) => view(number))),
  )
  const used = ((cpuSeconds(pid) - cpuBefore) / tookMs) * 1_000
  return [
    row(`${instances} processes: CPU of the server with ${viewers} open screens`, 'ms/s', [1_000 * used]),
  ]
}

/** The time from the request until every process has answered or its command has expired. */
async function pauseRows(url: string, named: (name: string) => string): Promise<Row[]> {
  let done = 0
  const tookMs = await milliseconds(async () => {
    const answer = await fetch(`${url}/api/v1/fleet/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ task: 'pause', channel: 'orders', reason: 'benchmark' }),
    })
    if (!answer.ok) throw new Error(`bench: the server refused the command: ${await answer.text()}`)
    const { requests } = (await answer.json()) as { requests: readonly { id: string }[] }
    for (;;) {
      const text = await read(`${url}/api/v1/fleet/commands/${requests[0]!.id}`)
      const { commands } = JSON.parse(text) as { commands: readonly { state: string }[] }
      done = commands.filter(({ state }) => state === 'done').length
      if (commands.every(({ state }) => state !== 'waiting' && state !== 'claimed')) return
      // Reading the outcome of a thousand commands costs the server time that the processes need.
      await delay(systemClock, COMMAND_POLL_MS)
    }
  })
  return [
    row(named('a pause of one channel in all processes'), 'ms', [tookMs]),
    row(named('processes that did it'), 'processes', [done]),
  ]
}

async function read(url: string): Promise<string> {
  const answer = await fetch(url)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`bench: ${url} answered ${answer.status}: ${text}`)
  return text
}
