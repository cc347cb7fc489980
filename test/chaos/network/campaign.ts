import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { settlesWithin, systemClock } from '../../../src/ports/clock.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { drawKinds } from '../campaign/draw.ts'
import { Effects } from '../campaign/effects.ts'
import { RestartingProcess } from '../campaign/restarting-process.ts'
import { injectFaults, runInFolder } from '../campaign/steps.ts'
import { pause, untilStill } from '../campaign/wait.ts'
import { collectFindings, type Findings } from './count.ts'
import { describeFault, drawFault } from './drawn.ts'
import { clientsOf, type Host, type Layout, on, serverOf } from './hosts.ts'
import { type Consumer, type FaultTargets, injectFault } from './inject.ts'
import {
  ACCEPTED,
  type CampaignOptions,
  CHANNEL,
  CONSUMER_CLOSED,
  EVENTS,
  type Fault,
  publishPauseMs,
  SHARES,
  STILL_MS,
} from './plan.ts'
import { Rules } from './rules.ts'
import type { ServerUnderTest } from './servers.ts'

const [CONSUMER, PRODUCER] = ['consumer.ts', 'producer.ts'].map(name =>
  fileURLToPath(new URL(name, import.meta.url)),
) as [string, string]
const LOOK_MS = 20
/** The network works by then, so nothing that is still to be closed waits for a peer that cannot answer. */
const CLOSE_MS = 30_000

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings
  readonly tookMs: number
  /** From the end of a fault to the next handled event, at most. */
  readonly longestRecoveryMs: number
  /** Batches that the producer published again. */
  readonly publishedAgain: number
  /** Deliveries of handled events, refused by the ledger. */
  readonly skipped: number
  /** Where the campaign stood still, if it did. */
  readonly stuck: readonly string[]
}

/** Events flow while the network between their hosts breaks in every way; then it is counted what became of each. */
export function runCampaign(
  options: CampaignOptions,
  layout: Layout,
  server: ServerUnderTest,
  tell: (line: string) => void,
): Promise<CampaignResult> {
  return runInFolder(folder => new Campaign(options, layout, server, folder), tell)
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #hosts: readonly Host[]
  readonly #folder: string
  readonly #effects: Effects
  readonly #producer: RestartingProcess
  readonly #targets: FaultTargets
  readonly #events: readonly LazaretEvent[]
  readonly #canBeHandled: number
  /** The processes that were killed. */
  readonly #killed = new Set<number>()
  readonly #stuck: string[] = []
  #longestRecoveryMs = 0

  constructor(options: CampaignOptions, layout: Layout, server: ServerUnderTest, folder: string) {
    this.#options = options
    this.#hosts = clientsOf(layout)
    this.#folder = folder
    this.#effects = new Effects(join(folder, 'effects.db'))
    const serverUrl = server.url.replace('127.0.0.1', serverOf(layout).address)
    const args = [options.broker, serverUrl, folder]
    const [producer, ...consumers] = this.#hosts
    const pauseMs = String(publishPauseMs(options))
    this.#producer = RestartingProcess.behind(on(producer!.namespace), PRODUCER, ...args, pauseMs)
    this.#targets = {
      rules: new Rules(layout),
      server,
      serverUrl,
      consumers: consumers.map(host => ({
        host,
        process: RestartingProcess.behind(on(host.namespace), CONSUMER, ...args),
      })),
    }
    const make = createFactory({ clock: systemClock, random: seededRandom(options.seed + 2) })
    const kinds = drawKinds(options, SHARES)
    this.#events = kinds.map(kind => make.event({ channel: CHANNEL, payload: { kind } }))
    this.#canBeHandled = kinds.filter(kind => kind !== 'permanent').length
  }

  async run(tell: (line: string) => void): Promise<CampaignResult> {
    const { consumers } = this.#targets
    await writeFile(join(this.#folder, EVENTS), JSON.stringify(this.#events))
    await Promise.all(consumers.map(({ process }) => process.begin()))
    const startedAt = systemClock.now()
    await this.#producer.begin()
    const { seed, longestFaultMs } = this.#options
    const random = seededRandom(seed + 3)
    const inject = async (fault: Fault) => {
      const drawn = drawFault(fault, this.#hosts, longestFaultMs, random)
      tell(`${this.#options.broker}: ${this.#effects.count} handled: ${describeFault(drawn)}`)
      if (fault === 'dead-host')
        for (const { process } of this.#hit(drawn.hosts)) this.#killed.add(process.pid)
      await injectFault(drawn, this.#targets)
      await this.#recover(describeFault(drawn))
    }
    const handled = () => this.#effects.count
    await injectFaults(this.#options, handled, inject, () => {}, STILL_MS).catch((error: Error) =>
      this.#stuck.push(error.message),
    )
    tell(`${this.#options.broker}: no more faults; waiting until every event is handled or dead`)
    const tookMs = (await this.#settle()) - startedAt
    const findings = await this.#count()
    const ended = [this.#producer, ...consumers.map(({ process }) => process)].filter(each => !each.isRunning)
    if (ended.length > 1) this.#stuck.push(`${ended.length - 1} consumers ended by themselves`)
    await Promise.all(consumers.map(consumer => this.#end(consumer)))
    return {
      options: this.#options,
      findings,
      tookMs,
      longestRecoveryMs: this.#longestRecoveryMs,
      publishedAgain: this.#producer.outcomes.get('again') ?? 0,
      skipped: consumers.reduce((sum, { process }) => sum + (process.outcomes.get('skipped') ?? 0), 0),
      stuck: this.#stuck,
    }
  }

  async close(): Promise<void> {
    await this.#targets.rules.heal()
    for (const process of [this.#producer, ...this.#targets.consumers.map(each => each.process)])
      await process.end('SIGKILL')
    this.#effects.close()
  }

  async #end({ host, process }: Consumer): Promise<void> {
    if (await settlesWithin(systemClock, CLOSE_MS, process.end())) return
    const part = process.outcomes.has(CONSUMER_CLOSED) ? 'its pools' : 'its consumer'
    this.#stuck.push(`${host.name}: ${part} did not close within ${CLOSE_MS / 1_000} s`)
    await process.end('SIGKILL')
  }

  #hit(hosts: readonly Host[]): readonly Consumer[] {
    return this.#targets.consumers.filter(({ host }) => hosts.includes(host))
  }

  /** Until the next event is handled after a fault. */
  async #recover(after: string): Promise<void> {
    const healedAt = systemClock.now()
    const before = this.#effects.count
    if (before >= this.#canBeHandled) return
    while (this.#effects.count === before) {
      if (systemClock.now() - healedAt > STILL_MS) {
        this.#stuck.push(`nothing was handled for ${STILL_MS / 1_000} s after ${after}`)
        return
      }
      await pause(LOOK_MS)
    }
    this.#longestRecoveryMs = Math.max(this.#longestRecoveryMs, systemClock.now() - healedAt)
  }

  /** Until every event is somewhere, and nothing but letters is left on the server. Resolves with the time of that. */
  async #settle(): Promise<number> {
    const { server } = this.#targets
    const isOver = async () => {
      const { size } = new Set(await server.letters())
      return this.#effects.count + size >= this.#events.length && (await server.left()) === 0
    }
    const isSettled = await untilStill(
      () => isOver().catch(() => false),
      () => this.#effects.count,
      STILL_MS,
    )
    if (!isSettled) this.#stuck.push(`nothing was handled for ${STILL_MS / 1_000} s at the end`)
    return systemClock.now()
  }

  async #count(): Promise<Findings> {
    const accepted = new Set(readFileSync(join(this.#folder, ACCEPTED), 'utf8').split('\n'))
    const { server } = this.#targets
    const counted = collectFindings(
      { events: this.#events, accepted, letters: await server.letters(), killed: this.#killed },
      this.#effects,
      await server.effects?.(),
    )
    return { ...counted, left: await server.left() }
  }
}
