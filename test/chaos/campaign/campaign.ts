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
import { drawKinds } from './draw.ts'
import { Effects } from './effects.ts'
import { type CampaignOptions, type Fault, SHARES } from './plan.ts'
import { Publisher } from './publisher.ts'
import { RestartingProcess } from './restarting-process.ts'
import { CHANNEL, FAST_DETECTION, STOPPED_MS } from './settings.ts'
import { countAtTheEnd, injectFaults, runInFolder } from './steps.ts'
import { pause } from './wait.ts'

const CONSUMER = fileURLToPath(new URL('consumer.ts', import.meta.url))

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings
  readonly tookMs: number
}

/** Publishes messages, injects faults meanwhile, and counts where each message ended. */
export function runCampaign(
  options: CampaignOptions,
  node: RabbitmqNode,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult> {
  return runInFolder(folder => Campaign.prepare(options, node, folder), tell)
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

  async run(tell: (line: string) => void): Promise<CampaignResult> {
    const startedAt = systemClock.now()
    await this.#lives.begin()
    const publishing = this.#publisher.publish(this.#events, () => this.#effects.count)
    await injectFaults(
      this.#options,
      () => this.#effects.count,
      fault => this.#inject(fault),
      tell,
    )
    await publishing
    tell('no more faults; waiting until every event is handled or dead')
    const findings = await countAtTheEnd(() =>
      collectFindings(this.#node.url, this.#events, this.#effects, this.#lives.outcomes),
    )
    await this.#lives.end()
    return {
      options: this.#options,
      findings: { ...findings, publishedAgain: this.#publisher.again },
      tookMs: systemClock.now() - startedAt,
    }
  }

  async close(): Promise<void> {
    await this.#lives.end('SIGKILL')
    await this.#publisher.close()
    await this.#proxy.close()
    this.#effects.close()
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
}
