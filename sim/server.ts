import { DEFAULT_MASKS } from '../src/core/dead-letter/masks.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import type { Store } from '../src/ports/store.ts'
import { fleetGate } from '../src/replay/fleet-gate.ts'
import { replayThroughFleet } from '../src/replay/fleet-target.ts'
import type { ReplayEnvironment, ReplayTarget } from '../src/replay/target.ts'
import { Federation } from '../src/server/stores/federation.ts'
import { ServerLog } from '../src/server/work/log.ts'
import { ReplayRunner } from '../src/server/work/replay-runner.ts'
import { Chance } from './chance.ts'
import type { FleetStoreParts } from './fleet-server-side.ts'
import { fleetStoreClient } from './fleet-store.ts'
import { Process } from './process.ts'
import type { World } from './world.ts'

/** What a person works with on a server. It ends with the process of the server. */
export interface Session {
  readonly store: Store & FleetStoreParts
  readonly environment: ReplayEnvironment
  readonly target: ReplayTarget
  readonly process: Process
}

interface Running {
  readonly session: Session
  readonly runner: ReplayRunner
}

/** A server apart from the services: it has the shared store, and no broker, consumer or sink of its own. */
export class Server {
  readonly name: string
  readonly #world: World
  #incarnation = 0
  #running: Running | undefined
  #isClosing = false

  constructor(name: string, world: World) {
    this.name = name
    this.#world = world
  }

  get session(): Session | undefined {
    return this.#isClosing ? undefined : this.#running?.session
  }

  boot(): void {
    if (this.#running !== undefined) return
    const { plan, history } = this.#world
    const name = `${this.name}.${++this.#incarnation}`
    history.record({ what: 'machineStarted', machine: name })
    const process = new Process(name, this.#world, () => {
      history.record({ what: 'machineCrashed', machine: name })
      this.#down(true)
    })
    const store = fleetStoreClient(process, 'server')
    const seedOf = 3_000 + this.#incarnation * 10 + this.name.charCodeAt(1)
    const newId = createIdSource(new Chance(plan.seed, seedOf).random)
    const environment = { clock: process, newId, downstreamFault: fleetGate([store.fleet], process) }
    const target = replayThroughFleet(store, undefined, environment)!
    const runner = new ReplayRunner({
      stores: new Federation({ world: store }, process),
      environment,
      owner: name,
      targetOf: () => target,
      observer: {},
      tracing: undefined,
      masks: DEFAULT_MASKS,
      log: new ServerLog(undefined),
      onChange: () => {},
      onError: () => {},
    })
    this.#running = { session: { store, environment, target, process }, runner }
    runner.start()
  }

  crash(): void {
    this.#running?.session.process.crash()
  }

  async close({ thenBoot }: { readonly thenBoot: boolean }): Promise<void> {
    if (this.#running === undefined || this.#isClosing) return
    const { runner, session } = this.#running
    this.#isClosing = true
    await runner.close()
    session.process.end()
    this.#down(thenBoot)
  }

  #down(thenBoot: boolean): void {
    this.#running = undefined
    this.#isClosing = false
    const { clock, faults } = this.#world
    if (thenBoot) clock.schedule(faults.delayMs(1_500), () => this.boot())
  }
}
