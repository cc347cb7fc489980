import { memoryDeadLetters } from '../../src/adapters/memory/letters/dead-letters.ts'
import type { Sink } from '../../src/ports/sink.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'
import { Recorder } from '../../src/testing/recorder.ts'

/** Nobody listens on the discard port of this machine: a connection is refused, as by a service that is down. */
const NOBODY = 'http://127.0.0.1:9/'

/** A dispatcher whose only sink is down, and what a job did and left behind. */
export class JobWorld {
  readonly deadLetters = memoryDeadLetters()
  readonly #recorder = new Recorder()
  /** What the work of jobs has done besides tracking, such as the mails that were sent. */
  readonly effects: string[] = []
  readonly events = createDispatcher({
    sinks: { loki: downSink },
    deadLetters: this.deadLetters,
    observer: this.#recorder.observer,
    retry: { attempts: 2 },
    breaker: 'off',
  })

  /** Does its work once, then tracks it, as a job does. */
  async work(effect: string): Promise<string> {
    this.effects.push(effect)
    await this.events.track({ type: 'email.sent', payload: { effect } })
    return `done ${effect}`
  }

  async letters() {
    const { letters } = await this.deadLetters.list()
    return letters.map(({ job, cycle, handler, event }) => ({
      job,
      reason: cycle.reason,
      handler,
      payload: event.payload,
    }))
  }

  /** What metrics are counted from. */
  counters() {
    const recorder = this.#recorder
    return {
      trackedInJob: recorder.of('trackedInJob').map(({ job }) => job),
      swallowed: recorder.of('trackingFailureSwallowed').map(({ job }) => job),
      savedFromJob: recorder.of('letterSaved').map(({ letter }) => `${letter.job} ${letter.cycle.reason}`),
    }
  }

  async close(): Promise<void> {
    await this.events.close({ graceMs: 0 })
  }
}

const downSink: Sink = {
  async write(batch, { signal }) {
    await fetch(NOBODY, { method: 'POST', body: JSON.stringify(batch), signal })
  },
}
