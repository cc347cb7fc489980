import { reopenLetter } from '../src/operations/decide.ts'
import { sendCommands } from '../src/operations/fleet-commands.ts'
import type { CommandTask } from '../src/ports/commands.ts'
import type { Replay, ReplayState } from '../src/ports/replays.ts'
import { cancelReplay, pauseReplay, resumeReplay, startReplay } from '../src/replay/control.ts'
import { planUnlessEmpty } from '../src/replay/plan.ts'
import { withRoutes } from '../src/replay/target.ts'
import { Chance } from './chance.ts'
import type { CommandPlan, FleetActionPlan, FleetPlan, ReplayPlan } from './fleet-plan.ts'
import { nameOf } from './names.ts'
import type { Process } from './process.ts'
import { Server, type Session } from './server.ts'
import type { World } from './world.ts'

const OPEN: readonly ReplayState[] = ['planned', 'approved', 'running', 'paused', 'halted']
/** A person resumes a halted replay this often, and then cancels it. */
const RESUMES = 3
/** A letter that stays `replaying` for this long after its replay is over has no outcome to wait for. */
const NO_OUTCOME_MS = 120_000
const AGAIN_MS = 2_000

/**
 * A person apart from the services, with servers that have nothing but the shared store: sends commands, starts replays,
 * and in the end undoes what was paused or forced, and decides on replays that halted.
 */
export class FleetOperator {
  readonly servers: readonly Server[]
  readonly #world: World
  readonly #chance: Chance
  readonly #resumes = new Map<string, number>()
  readonly #stuckSince = new Map<string, number>()
  #people = 0
  /** The server on which a person tidies up. */
  #tidying: Process | undefined

  constructor(world: World, fleet: FleetPlan) {
    this.#world = world
    this.#chance = new Chance(world.plan.seed, 12)
    this.servers = Array.from({ length: fleet.servers }, (_, index) => new Server(`s${index + 1}`, world))
    for (const server of this.servers) server.boot()
    for (const action of fleet.actions) world.clock.schedule(action.atMs, () => this.#do(action))
  }

  /** Whether every server is up, every command is over, and every replay has ended. */
  async isDone(): Promise<boolean> {
    const { commands, replays } = this.#world.fleet!
    if (this.servers.some(({ session }) => session === undefined)) return false
    for (const { id, state } of await replays.list({ limit: 1_000 })) {
      if (OPEN.includes(state)) return false
      // A process can record late that it has sent an item. The server then finds the outcome again.
      if (state === 'finished' && (await replays.counts(id)).sent > 0) return false
    }
    const sent = await commands.list(10_000)
    return sent.every(({ state }) => state !== 'waiting' && state !== 'claimed')
  }

  /** The ids of the replays that have not ended. */
  async openReplays(): Promise<readonly string[]> {
    const all = await this.#world.fleet!.replays.list({ limit: 1_000 })
    return all.filter(({ state }) => OPEN.includes(state)).map(({ id }) => id)
  }

  /** After the faults: brings everything back that people stopped. */
  tidyUp(): void {
    const session = this.#session()
    if (this.#tidying?.isAlive === true || session === undefined) return
    this.#tidying = session.process
    const end = () => {
      this.#tidying = undefined
    }
    void this.#tidyUp(session).then(end, end)
  }

  async #tidyUp(session: Session): Promise<void> {
    await this.#undo(session)
    const { replays } = this.#world.fleet!
    for (const replay of await replays.list({ limit: 1_000 })) await this.#decide(session, replay)
    await this.#reopen(session)
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map(server => server.close({ thenBoot: false })))
  }

  #do(action: FleetActionPlan): void {
    const { history, faults } = this.#world
    faults.count++
    history.record({ what: 'action', description: `fleet ${JSON.stringify(action)}` })
    const session = this.#session()
    switch (action.kind) {
      case 'crash-server':
        this.#chance.pick(this.servers).crash()
        break
      case 'restart-server':
        void this.#chance.pick(this.servers).close({ thenBoot: true })
        break
      case 'command':
        if (session !== undefined) this.#try(this.#command(session, action))
        break
      case 'replay':
        this.#replayOnce(action)
        break
      default:
        if (session !== undefined) this.#try(this.#stop(session, action.kind))
    }
  }

  /** Plans a replay, and again a little later while there are no letters to send. */
  #replayOnce(plan: ReplayPlan): void {
    const { clock, faults } = this.#world
    if (faults.areStopped) return
    const session = this.#session()
    const again = () => void clock.schedule(AGAIN_MS, () => this.#replayOnce(plan))
    if (session === undefined) again()
    else
      this.#try(
        this.#replay(session, plan).then(isStarted => {
          if (!isStarted) again()
        }),
      )
  }

  #session(): Session | undefined {
    const open = this.servers.flatMap(({ session }) => session ?? [])
    return open.length === 0 ? undefined : this.#chance.pick(open)
  }

  /** A refusal or an unreachable store is told to the person, who does no more about it. */
  #try(work: Promise<unknown>): void {
    work.catch(() => {})
  }

  #nextPerson(): string {
    return `ann${++this.#people}`
  }

  async #command({ store, process }: Session, { task: kind, part, to, whom }: CommandPlan): Promise<void> {
    const by = this.#nextPerson()
    const task = {
      ...{ kind, ...part },
      ...(kind === 'breaker' && { to }),
    } satisfies CommandTask as CommandTask
    const instances = await store.fleet.list()
    if (instances.length === 0) return
    const { id, service } = this.#chance.pick(instances).report
    await sendCommands(
      store,
      {
        ...{ task, by, reason: 'a test' },
        ...(whom === 'instance' && { instance: id }),
        ...(whom === 'service' && { service }),
        ...((whom === 'any' || whom === 'all') && { recipients: whom }),
      },
      process,
    )
  }

  async #replay({ store, environment, target, process }: Session, plan: ReplayPlan): Promise<boolean> {
    const by = this.#nextPerson()
    const { kind: _, atMs: __, filter, ...how } = plan
    const request = { ...how, ...(await this.#selection(store, filter)), reason: 'fixed', by }
    const planned = await planUnlessEmpty(store, request, withRoutes(environment, target))
    if (planned === undefined) return false
    await startReplay(store, planned.id, { by, clock: process })
    return true
  }

  /** People select by a filter. Messages that are not events are left out by their ids, because they fail as such. */
  async #selection({ deadLetters }: Session['store'], filter: ReplayPlan['filter']) {
    const { events } = this.#world.plan
    if (![...events.values()].some(({ eventKind }) => eventKind === 'undecodable')) return { filter }
    const { letters } = await deadLetters.list({ ...filter, limit: 1_000 })
    return { ids: letters.filter(({ event }) => event.type !== 'undecodable').map(({ id }) => id) }
  }

  async #stop(
    { store, process }: Session,
    kind: 'pause-replay' | 'resume-replay' | 'cancel-replay',
  ): Promise<void> {
    const command = { by: this.#nextPerson(), clock: process }
    const act = { 'pause-replay': pauseReplay, 'resume-replay': resumeReplay, 'cancel-replay': cancelReplay }
    const [newest] = await store.replays.list({ limit: 1 })
    if (newest !== undefined) await act[kind](store, newest.id, command)
  }

  /** Undoes pauses and forced breakers that the processes report. A report can be old, so this repeats. */
  async #undo({ store, process }: Session): Promise<void> {
    const by = this.#nextPerson()
    for (const { report, state } of await store.fleet.list()) {
      if (state !== 'alive') continue
      const send = (task: CommandTask) =>
        sendCommands(store, { task, instance: report.id, by }, process).catch(() => {})
      for (const { channel, handler, paused, breaker } of report.consumers) {
        if (paused.includes('manual')) await send({ kind: 'resume', channel, handler })
        if (breaker.startsWith('forced')) await send({ kind: 'breaker', channel, handler, to: 'auto' })
      }
      for (const { name: sink, breaker } of report.sinks)
        if (breaker.startsWith('forced')) await send({ kind: 'breaker', sink, to: 'auto' })
    }
  }

  async #decide({ store, process }: Session, { id, state }: Replay): Promise<void> {
    if (!OPEN.includes(state) || state === 'running') return
    const command = { by: this.#nextPerson(), clock: process }
    const resumes = this.#resumes.get(id) ?? 0
    this.#resumes.set(id, resumes + 1)
    const isStopped = state === 'paused' || state === 'halted'
    if (isStopped && resumes < RESUMES) await resumeReplay(store, id, command).catch(() => {})
    else if (isStopped || resumes > 0) await cancelReplay(store, id, command).catch(() => {})
  }

  /** Reopens the letters without an outcome to wait for. The checker `fleetReplays` verifies that there was a reason. */
  async #reopen({ store }: Session): Promise<void> {
    const { history, clock, fleet, broker } = this.#world
    const { letters } = await this.#world.store.list({ state: 'replaying', limit: 1_000 })
    for (const letter of letters) {
      const { id, channel, handler, event, replayId, replays, origin } = letter
      if (origin.broker !== undefined && broker.depth(channel, handler) > 0) continue
      const replay = replayId === undefined ? undefined : await fleet!.replays.get(replayId)
      // The other operator of the world has replays that the store does not know.
      if (replayId !== undefined && (replay === undefined || OPEN.includes(replay.state))) continue
      const sending = `${id} ${replays}`
      const since = this.#stuckSince.get(sending) ?? clock.elapsedMs
      this.#stuckSince.set(sending, since)
      if (clock.elapsedMs - since < NO_OUTCOME_MS) continue
      history.record({ what: 'reopened', event: nameOf(event), handler, replayId })
      await reopenLetter(store, letter, { at: clock.now(), by: this.#nextPerson() }).catch(() => {})
    }
  }
}
