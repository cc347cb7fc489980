import { appendFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { systemClock } from '../../../src/ports/clock.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { withTempFolder } from '../campaign/folder.ts'
import { pause } from '../campaign/wait.ts'
import { LoopDelay } from './measure.ts'
import type { Line, Sample, SoakOptions, StoreName } from './plan.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { StoreRun } from './store-run.ts'

/** Runs all stores beside each other and writes each line as it comes. Answers all lines. */
export function runSoak(
  options: SoakOptions,
  file: string,
  tell: (line: string) => void,
): Promise<readonly Line[]> {
  return withTempFolder(async folder => {
    const soak = new Soak(options, file, tell)
    try {
      return await soak.run(folder)
    } finally {
      await soak.close()
    }
  })
}

class Soak {
  readonly #options: SoakOptions
  readonly #file: string
  readonly #tell: (line: string) => void
  readonly #lines: Line[] = []
  readonly #runs: StoreRun[] = []
  readonly #delay = new LoopDelay()
  #receiver: Receiver | undefined

  constructor(options: SoakOptions, file: string, tell: (line: string) => void) {
    this.#options = options
    this.#file = file
    this.#tell = tell
  }

  async run(folder: string): Promise<readonly Line[]> {
    const { stores, seed, durationMs, sampleMs } = this.#options
    this.#receiver = await startReceiver(seededRandom(seed))
    const { url } = this.#receiver
    const started = await Promise.allSettled(
      stores.map(async name => {
        this.#runs.push(await StoreRun.start(name, this.#options, folder, url))
        this.#tell(`${name}: started`)
      }),
    )
    for (const each of started) if (each.status === 'rejected') throw each.reason
    this.#tell(`samples are in ${this.#file}`)
    const startedAt = systemClock.now()
    for (const run of this.#runs)
      run.disturb(startedAt, line => {
        this.#write(line)
        this.#tell(`${line.store}: ${line.fault} for ${(line.tookMs / 1_000).toFixed(1)} s`)
      })
    for (let dueAt = startedAt + sampleMs; dueAt <= startedAt + durationMs; dueAt += sampleMs) {
      await pause(Math.max(1, dueAt - systemClock.now()))
      await this.#sample(startedAt)
    }
    this.#tell('no more faults; waiting until each event is handled or a letter')
    await Promise.all(this.#runs.map(run => run.calm()))
    await Promise.all(this.#runs.map(run => this.#end(run)))
    return this.#lines
  }

  async close(): Promise<void> {
    for (const run of this.#runs) await run.calm().catch(() => {})
    for (const run of this.#runs) await run.close()
    await this.#receiver?.close()
  }

  async #sample(startedAt: number): Promise<void> {
    const idleLoopDelayMs = this.#delay.take()
    this.#delay.resume()
    const load = loadavg()[0]!
    await Promise.all(
      this.#runs.map(async run => {
        const atMs = systemClock.now() - startedAt
        const measured = await run.sample()
        if (measured === undefined) return
        const { counts, ...rest } = measured
        this.#write({ store: run.name, atMs, ...rest, ...counts, idleLoopDelayMs, load } satisfies Sample)
      }),
    )
  }

  async #end(run: StoreRun): Promise<void> {
    const end = (await run.end()) ?? this.#unknownEnd(run.name)
    this.#write({ store: run.name, end })
    this.#tell(`${run.name}: ended with ${end.missing} missing events`)
  }

  /** The process has ended by itself, or did not say what became of the events. */
  #unknownEnd(store: StoreName) {
    const last = this.#lines.findLast((line): line is Sample => line.store === store && 'load' in line)
    const none = { published: 0, handled: 0, dead: 0, open: 0, lost: 0, replayed: 0, discarded: 0 }
    const counts = last ?? { ...none, expired: 0, again: 0, troubled: 0 }
    const { published, handled, dead, open, lost, replayed, discarded, expired, again, troubled } = counts
    return {
      ...{ published, handled, dead, open, lost, replayed, discarded, expired, again, troubled },
      ...{ missing: 0, left: 0, examples: [], letters: 0 },
      stuck: ['its process did not say what became of the events'],
    }
  }

  #write(line: Line): void {
    this.#lines.push(line)
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}
