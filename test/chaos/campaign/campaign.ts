import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withAdmin } from '../../../src/adapters/rabbitmq/admin.ts'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import type { RabbitmqNode } from '../../services/rabbitmq-node.ts'
import { ChaosProxy } from '../proxy.ts'
import { collectFindings, type Findings } from './count.ts'
import { drawFaultTimes, drawKinds, type FaultTime } from './draw.ts'
import { Effects } from './effects.ts'
import { withTempFolder } from './folder.ts'
import { type CampaignOptions, type Fault, SHARES } from './plan.ts'
import { Publisher } from './publisher.ts'
import { RestartingProcess } from './restarting-process.ts'
import { CHANNEL, FAST_DETECTION, STOPPED_MS } from './settings.ts'
import { pause, until } from './wait.ts'

const STALL_MS = 400_000
const CONSUMER = fileURLToPath(new URL('consumer.ts', import.meta.url))

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings
  readonly tookMs: number
}

/** Publishes messages, injects faults meanwhile, and counts where each message ended. */
export async function runCampaign(
  options: CampaignOptions,
  node: RabbitmqNode,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult> {
  return await withTempFolder(async folder => {
    const campaign = await Campaign.prepare(options, node, folder)
    try {
      const startedAt = systemClock.now()
      const findings = await campaign.run(tell)
      return { options, findings, tookMs: systemClock.now() - startedAt }
    } finally {
      await campaign.close()
    }
  })
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #node: RabbitmqNode
  readonly #proxy: ChaosProxy
  readonly #effects: Effects
  readonly #lives: RestartingProcess
  readonly #publisher: Publisher
  readonly #events: readonly LazaretEvent[]

  private constructor(options: CampaignOptions, node: RabbitmqNode, proxy: ChaosProxy, folder: string) {
    this.#options = options
    this.#node = node
    this.#proxy = proxy
    this.#effects = new Effects(join(folder, 'effects.db'))
    const url = proxy.through(node.url)
    this.#lives = new RestartingProcess(CONSUMER, url, options.queueType, folder)
    this.#publisher = new Publisher(rabbitmq({ url, queueType: options.queueType, ...FAST_DETECTION }))
    const make = createFactory({ clock: systemClock, random: seededRandom(options.seed + 2) })
    this.#events = drawKinds(options, SHARES).map(kind => make.event({ channel: CHANNEL, payload: { kind } }))
  }

  /** The server of Debian 12 can forget who leads a quorum queue that was declared right before a kill. */
  static async prepare(options: CampaignOptions, node: RabbitmqNode, folder: string): Promise<Campaign> {
    const { queueType } = options
    await withAdmin({ url: node.url, queueType }, admin => admin.declare(CHANNEL, CHANNEL))
    await node.stop()
    await node.start()
    return new Campaign(options, node, await ChaosProxy.to(node.url), folder)
  }

  async run(tell: (line: string) => void): Promise<Findings> {
    await this.#lives.begin()
    const publishing = this.#publisher.publish(this.#events, () => this.#effects.count)
    for (const moment of drawFaultTimes(this.#options, this.#options.faults)) {
      await this.#reach(moment)
      tell(`${this.#effects.count} handled; fault: ${moment.fault}`)
      await this.#inject(moment.fault)
    }
    await publishing
    tell('no more faults; waiting until every message is handled or dead')
    const findings = await this.#settle()
    await this.#lives.end()
    return { ...findings, publishedAgain: this.#publisher.again }
  }

  async close(): Promise<void> {
    await this.#lives.end('SIGKILL')
    await this.#publisher.close()
    await this.#proxy.close()
    this.#effects.close()
  }

  async #reach({ at }: FaultTime<Fault>): Promise<void> {
    const wanted = Math.min(at, this.#effects.count + this.#options.messages)
    await until(
      () => this.#effects.count >= wanted,
      () => `${wanted} messages are handled`,
      STALL_MS,
    )
  }

  async #inject(fault: Fault): Promise<void> {
    if (fault === 'kill') await this.#lives.kill()
    else if (fault === 'cut') this.#proxy.cut()
    else if (fault === 'restart') {
      await this.#node.kill()
      await this.#node.start()
    } else if (fault === 'hang') {
      this.#lives.stop()
      await pause(STOPPED_MS)
      this.#lives.resume()
    } else {
      this.#node.freeze()
      await pause(STOPPED_MS)
      this.#node.thaw()
    }
  }

  /** Waits until every message is handled or dead, and only letters are left on the server. */
  async #settle(): Promise<Findings> {
    let findings: Findings | undefined
    const isOver = async () => {
      findings = await collectFindings(this.#node.url, this.#events, this.#effects, this.#lives.outcomes)
      return findings.lost === 0 && findings.left === 0
    }
    // Events that are missing by then are lost for good: the report counts them.
    await until(isOver, () => 'every message is handled or dead', STALL_MS).catch(() => {})
    return findings!
  }
}
