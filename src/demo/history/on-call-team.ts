import { groupingOf } from '../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { IdSource } from '../../core/event/uuid.ts'
import { discardLetter } from '../../operations/decide.ts'
import { triageGroup } from '../../operations/triage.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import type { TriageChange } from '../../ports/groups.ts'
import { cancelReplay, startReplay } from '../../replay/control.ts'
import { planUnlessEmpty } from '../../replay/plan.ts'
import { runReplay } from '../../replay/runner.ts'
import type { ReplayTarget } from '../../replay/target.ts'
import type { ShopStore } from '../shop.ts'

const OWNER = 'lazaret demo'

type GroupTriage = Parameters<typeof triageGroup>[2]

/**
 * The actions of the people on call during the last day, made with the same functions as the command line and the
 * console.
 */
export class OnCallTeam {
  readonly #store: ShopStore
  readonly #target: ReplayTarget
  readonly #clock: Clock
  readonly #newId: IdSource
  /** The triage of groups, to be written again into the store of the demo. */
  readonly triageChanges: { readonly group: string; readonly change: TriageChange }[] = []

  constructor(store: ShopStore, target: ReplayTarget, clock: Clock, newId: IdSource) {
    this.#store = store
    this.#target = target
    this.#clock = clock
    this.#newId = newId
  }

  async discard(by: string, note: string, which: LetterFilter): Promise<void> {
    for (const { id } of await this.#letters({ ...which, state: 'dead' }))
      await discardLetter(this.#store, id, { by, note, at: this.#clock.now() })
  }

  /** Triages the group of the first letter that matches. */
  async triage(which: LetterFilter, change: Omit<GroupTriage, 'at'>): Promise<void> {
    const [sample] = await this.#letters(which)
    if (sample === undefined) return
    const { id: group } = groupingOf(sample)
    const timed = { ...change, at: this.#clock.now() }
    this.triageChanges.push({ group, change: timed })
    await triageGroup(this.#store, group, timed)
  }

  /**
   * Sends the letters found again; with a number, that many of the oldest. A replay that does not help is cancelled.
   */
  async replay(by: string, reason: string, which: LetterFilter, count?: number): Promise<void> {
    const clock = this.#clock
    const letters = (await this.#letters(which)).toSorted((a, b) => a.createdAt - b.createdAt)
    const ids = letters.slice(0, count).map(({ id }) => id)
    const environment = { clock, newId: this.#newId }
    const plan = await planUnlessEmpty(this.#store, { ids, reason, by, perSecond: 5 }, environment)
    if (plan === undefined) return
    const { id } = plan
    await startReplay(this.#store, id, { by, clock })
    const { state } = await runReplay(this.#store, id, { target: this.#target, environment, owner: OWNER })
    if (state === 'halted') await cancelReplay(this.#store, id, { by, clock, reason: 'not fixed yet' })
  }

  async #letters(which: LetterFilter): Promise<readonly DeadLetter[]> {
    return (await this.#store.deadLetters.list({ ...which, limit: 500 })).letters
  }
}
