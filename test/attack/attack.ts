import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { withTempFolder } from '../chaos/campaign/folder.ts'
import { freePorts } from '../services/free-ports.ts'
import { type AttackRole, isHarmless, REFUSED } from './roles.ts'
import { type AttackedServer, startServer, tokenOf } from './server.ts'
import { openProcess } from './shop.ts'
import { fillStores, idsIn, readStores, SECRET, STORES } from './stores.ts'

const HERE = import.meta.dirname

/** What schemathesis found in a run, and what the runner itself looked at. */
export interface AttackResult {
  readonly role: AttackRole
  readonly requests: number
  readonly statuses: Readonly<Record<string, number>>
  /** How many operations answered with success at least once. */
  readonly accepted: number
  readonly seed: string
  readonly violations: readonly string[]
  /** The reproductions, as schemathesis prints them. */
  readonly output: string
}

interface Report {
  readonly test_cases: { readonly generated: number }
  readonly failures: readonly {
    readonly title: string
    readonly count: number
    readonly operations: readonly string[]
  }[]
  readonly errors: readonly { readonly title: string; readonly count: number }[]
}

interface Counts {
  readonly statuses: Readonly<Record<string, number>>
  readonly accepted: Readonly<Record<string, number>>
}

export interface AttackOptions {
  /** The Python that has schemathesis. */
  readonly python: string
  readonly role: AttackRole
  readonly seconds: number
  /** Repeats the requests of a run. */
  readonly seed?: string | undefined
}

/** Attacks a server of its own as one role. */
export function attack(options: AttackOptions): Promise<AttackResult> {
  const { role } = options
  return withTempFolder(async folder => {
    await fillStores(folder)
    const before = await readStores(folder)
    const ids = await idsIn(folder)
    const [port = 0] = await freePorts(1)
    const server = await startServer(folder, port)
    const shop = await openProcess(folder, !isHarmless(role))
    const found = await send(options, server, folder, {
      ...ids,
      ...{ channel: ['orders'], instance: [shop.instance] },
    })
    const isAlive = server.isAlive
    const exitCode = await server.close()
    await shop.close()
    const violations = [...found.violations]
    if (!isAlive) violations.push('the server ended during the attack')
    else if (exitCode !== 0) violations.push(`the server ended with the exit code ${exitCode}`)
    for (const line of server.log.filter(isProblem)) violations.push(`the server logged: ${line}`)
    // Reading everything also shows that the stores can still be read.
    const after = await readStores(folder)
    for (const name of Object.keys(STORES))
      if (isHarmless(role) && !isDeepStrictEqual(before[name], after[name]))
        violations.push(`the store ${name} has changed, and ${role} may change nothing`)
    return { ...found, violations }
  })
}

/** Replays that begin and end are logged too. */
function isProblem(line: string): boolean {
  return !line.startsWith('{"level":"info"')
}

async function send(
  { python, role, seconds, seed }: AttackOptions,
  server: AttackedServer,
  folder: string,
  ids: Readonly<Record<string, readonly string[]>>,
): Promise<AttackResult> {
  const counts = join(folder, 'counts.json')
  const report = join(folder, 'report.json')
  const token = tokenOf(role)
  const headers: Readonly<Record<string, string>> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  const facts = {
    ...{ role, refused: REFUSED[role], secret: SECRET, url: server.url, headers, ids, counts },
    stores: Object.keys(STORES),
  }
  const words = [
    ...['-m', 'schemathesis.cli', '--config-file', join(HERE, 'schemathesis.toml')],
    ...['run', `${server.url}/api/v1/openapi.json`, '--max-time', String(seconds)],
    ...['--report-json-path', report, '--generation-database', 'none', '--output-sanitize', 'false'],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}:${value}`]),
    ...(seed === undefined ? [] : ['--seed', seed]),
  ]
  const env = {
    ...process.env,
    ...{ SCHEMATHESIS_HOOKS: 'attack_checks', PYTHONPATH: HERE, PYTHONDONTWRITEBYTECODE: '1' },
    ATTACK_FACTS: JSON.stringify(facts),
  }
  const child = spawn(python, words, { cwd: dirname(report), env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', part => {
      output += part
    })
  await once(child, 'close')
  const read = await readFile(report, 'utf8').catch(() => {
    throw new Error(`schemathesis wrote no report: ${output}`)
  })
  const { failures, errors, test_cases } = JSON.parse(read) as Report
  // It is larger than the numbers of JavaScript.
  const [, used = ''] = /"seed":\s*(\d+)/.exec(read) ?? []
  const { statuses, accepted } = JSON.parse(await readFile(counts, 'utf8')) as Counts
  return {
    ...{ role, statuses, output, seed: used },
    accepted: Object.keys(accepted).length,
    requests: Object.values(statuses).reduce((sum, count) => sum + count, 0) || test_cases.generated,
    violations: [
      ...failures.map(({ title, count, operations }) => `${title} (${count} ×): ${operations.join(', ')}`),
      ...errors.map(({ title, count }) => `${title} (${count} ×)`),
    ],
  }
}
