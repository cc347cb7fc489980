import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Clock } from '../ports/clock.ts'
import type { Fleet, Instance, InstanceState, WantedPart } from '../ports/fleet.ts'
import { EVERY_SINK } from '../runtime/dispatcher/track/entry-limit.ts'

/** The part of a process that can send a letter: the consumer that failed, or the sink. */
export type LetterOwner = WantedPart

/** A plan asks for every letter. Within this time it gets the same reports. */
const REPORTS_FOR_MS = 1_000

/** Returns the owner of a letter, or of its event in the channel `to`. Only a collector can send collected letters. */
export function ownerOf(
  { channel, handler, origin }: Pick<DeadLetter, 'channel' | 'handler' | 'origin'>,
  to: string | undefined,
): LetterOwner | undefined {
  const { broker, collectedFrom } = origin
  if (to !== undefined) return { channel: to }
  if (broker === undefined) return handler === EVERY_SINK ? { everySinkOf: channel } : { sink: handler }
  return collectedFrom === undefined ? { channel, handler, broker } : undefined
}

/** The living processes of a fleet, as they reported themselves a moment ago. */
export class LivingProcesses {
  readonly #fleet: Fleet
  readonly #clock: Clock
  #known: { readonly at: number; readonly all: Promise<readonly Instance[]> } | undefined

  constructor(fleet: Fleet, clock: Clock) {
    this.#fleet = fleet
    this.#clock = clock
  }

  async read(): Promise<readonly Instance[]> {
    return (await this.#all()).filter(({ state }) => state === 'alive')
  }

  /** The state of a process; undefined if the store does not know it. */
  async stateOf(id: string): Promise<InstanceState | undefined> {
    return (await this.#all()).find(({ report }) => report.id === id)?.state
  }

  #all(): Promise<readonly Instance[]> {
    const now = this.#clock.now()
    // The absolute difference also covers a clock that was set back.
    if (this.#known === undefined || Math.abs(now - this.#known.at) >= REPORTS_FOR_MS) {
      const all = this.#fleet.list()
      this.#known = { at: now, all }
      all.catch(() => {
        this.#known = undefined
      })
    }
    return this.#known.all
  }
}
