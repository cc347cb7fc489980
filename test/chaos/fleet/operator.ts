import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Random } from '../../../src/core/random.ts'
import { runScript } from '../../support/lazaret-process.ts'
import { ROOT } from '../../support/source.ts'
import { pause } from '../campaign/wait.ts'
import { PEOPLE, type Person } from './plan.ts'

const ROUND_MS = 500
const MOST_REPLAYS = 2
const PER_SECOND = 100
/** The command line takes a second of CPU time. */
const CLI_EVERY = 8

type Body = Readonly<Record<string, unknown>>

interface Replay {
  readonly id: string
  readonly state: string
}

/**
 * Commands, each with the one that takes it back. A breaker that is reset starts with probes, and every event but a replay fails
 * here, so it is forced closed instead.
 */
const COMMANDS: readonly (readonly [Body, Body])[] = [
  [
    { task: 'pause', channel: 'orders' },
    { task: 'resume', channel: 'orders' },
  ],
  [
    { task: 'breaker', to: 'open', channel: 'orders', handler: 'bill' },
    { task: 'breaker', to: 'closed', channel: 'orders', handler: 'bill' },
  ],
  [
    { task: 'probe', sink: 'crm' },
    { task: 'probe', sink: 'warehouse' },
  ],
]

const tokenOf = (person: Person) => `token-of-${person}-0123456789`

/** The tokens as the config of a server has them. */
export const TOKENS = PEOPLE.map(name => ({
  name,
  role: 'operator',
  sha256: createHash('sha256').update(tokenOf(name)).digest('hex'),
}))

/**
 * People who use any of the servers, and the command line, all the while. A call that fails is left: the next round does what
 * this one could not.
 */
export class Operator {
  /** The requests of commands that were answered, and who sent them. */
  readonly commands = new Map<string, Person>()
  /** The replays that were planned and answered, and who planned them. */
  readonly replays = new Map<string, Person>()
  refusals = 0
  readonly #urls: readonly string[]
  readonly #store: string
  readonly #folder: string
  readonly #random: Random
  #takeBack: Body | undefined
  #isStopped = false
  #working: Promise<void> | undefined

  constructor(urls: readonly string[], store: string, folder: string, random: Random) {
    this.#urls = urls
    this.#store = store
    this.#folder = folder
    this.#random = random
  }

  start(): void {
    this.#working = this.#work()
  }

  /** Takes back every command, and then only replays letters. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#working
    for (const [, back] of COMMANDS) while (!(await this.#command(back))) await pause(ROUND_MS)
  }

  /** Replays the dead letters of a channel, unless enough replays are under way. */
  async replay(channel: string): Promise<void> {
    const listed = (await this.#get('/replays?limit=100')) as { replays: readonly Replay[] } | undefined
    if (listed === undefined) return
    for (const { id, state } of listed.replays) {
      if (state === 'halted' || state === 'paused') await this.#post(`/replays/${id}/resume`, 'ann', {})
      // The answer of its plan was lost.
      if (state === 'approved') await this.#post(`/replays/${id}/start`, 'ann', {})
    }
    if (listed.replays.filter(({ state }) => state === 'running').length >= MOST_REPLAYS) return
    const person = this.#pick(PEOPLE)
    const filter = { channel, state: 'dead' }
    const plan = { filter, reason: 'fixed', stages: [1, 'rest'], perSecond: PER_SECOND }
    const planned = await this.#post('/replays', person, plan)
    if (planned === undefined) return
    const { id } = planned as { readonly id: string }
    this.replays.set(id, person)
    await this.#post(`/replays/${id}/start`, person, {})
  }

  async #work(): Promise<void> {
    for (let round = 1; !this.#isStopped; round++) {
      await this.replay(this.#pick(['orders', 'events']))
      if (round % CLI_EVERY === 0) await this.#probe()
      else {
        const [command, back] = this.#pick(COMMANDS)
        const body = this.#takeBack ?? command
        const isSent = await this.#command(body)
        if (isSent) this.#takeBack = this.#takeBack === undefined ? back : undefined
      }
      await pause(ROUND_MS)
    }
  }

  async #command(body: Body): Promise<boolean> {
    const person = this.#pick(['ann', 'bob'] as const)
    const sent = await this.#post('/fleet/commands', person, { ...body, reason: 'a campaign' })
    for (const { id } of (sent as { requests: readonly { id: string }[] } | undefined)?.requests ?? [])
      this.commands.set(id, person)
    return sent !== undefined
  }

  async #probe(): Promise<void> {
    const words = `fleet probe --channel orders --by carol --reason 'a campaign' --json --store '${this.#store}'`
    const script = `"${process.execPath}" "${join(ROOT, 'dist/cli/main.js')}" ${words}`
    const { out } = await runScript(script, this.#folder)
    for (const line of out.split('\n').filter(each => each !== ''))
      this.commands.set((JSON.parse(line) as { command: { request: string } }).command.request, 'carol')
  }

  async #get(path: string): Promise<Body | undefined> {
    return this.#call(path, 'ann', {})
  }

  async #post(path: string, person: Person, body: unknown): Promise<Body | undefined> {
    return this.#call(path, person, { method: 'POST', body: JSON.stringify(body) })
  }

  /** Undefined when the server is away, or refuses: there may be no letter to send and no process to command. */
  async #call(path: string, person: Person, init: RequestInit): Promise<Body | undefined> {
    const url = this.#pick(this.#urls)
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${tokenOf(person)}` }
    try {
      const response = await fetch(`${url}/api/v1${path}`, { ...init, headers })
      if (response.ok) return (await response.json()) as Body
    } catch {
      // The next round asks another server.
    }
    this.refusals++
    return undefined
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!
  }
}
