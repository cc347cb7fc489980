import type { Claimant, ClaimedRow } from './claiming.ts'

type Claim = Pick<Claimant, 'number' | 'ended'>

/** Makes one claim, under a number of its own. */
export type TakeNote = (take: (claim: Claim) => Promise<ClaimedRow[]>) => Promise<ClaimedRow[]>

/** A row as one claim has taken it. */
export type Taken = Pick<ClaimedRow, 'seq' | 'claim'>

export interface Holding extends Taken {
  /** For whom it was claimed. */
  readonly owner: number
}

/**
 * Which rows this process knows it has, and which claims took them. A claim whose answer is lost with its connection may
 * have been made all the same; the rows are in flight then, for an owner that lives and does not know of them. So what the
 * owner's claims took is gone through now and then, at a moment without claims: rows in flight that it does not know are
 * given back.
 *
 * A row can be lost and claimed again while whoever had it first does not know yet: what is said of one claim's row never
 * touches the same row of another claim.
 */
export class Holdings {
  readonly #giveBackOthers: (held: readonly Holding[], claims: readonly number[]) => Promise<void>
  /** By the number of the row, as its latest claim has it. */
  readonly #held = new Map<number, Holding>()
  /** How many rows of each claim are held. */
  readonly #open = new Map<number, number>()
  /** Claims of which nothing is in flight: their notes can go. */
  #ended: number[] = []
  /** Claims of which something was lost: their notes are needed until it was looked for. */
  #doubtful = new Set<number>()
  #numbers = 0
  #claims = 0
  #onQuiet: (() => void) | undefined
  #isSure = true
  #checking: Promise<void> | undefined

  /** `giveBackOthers` gives back what the owner has in flight, but for these. */
  constructor(giveBackOthers: (held: readonly Holding[], claims: readonly number[]) => Promise<void>) {
    this.#giveBackOthers = giveBackOthers
  }

  async claim(owner: number, take: (note: TakeNote) => Promise<ClaimedRow[]>): Promise<ClaimedRow[]> {
    // As long as it takes: whoever waited for one check may find that the next has begun.
    while (!this.#isSure || this.#checking !== undefined) await this.check()
    this.#claims++
    const taken: ClaimedRow[] = []
    try {
      return await take(async each => {
        const rows = await this.#note(owner, each)
        taken.push(...rows)
        return rows
      })
    } catch (error) {
      // Nobody is handed what was taken before it failed.
      for (const row of taken) this.lose(row)
      this.#isSure = false
      throw error
    } finally {
      if (--this.#claims === 0) this.#onQuiet?.()
    }
  }

  /** It is settled, or somebody else has it. */
  drop(taken: Taken): void {
    this.#remove(taken, false)
  }

  /** What became of it is not known: if it is still in flight, it is given back. */
  lose(taken: Taken): void {
    this.#remove(taken, true)
    this.#isSure = false
  }

  /** Gives back what is in flight without anybody knowing. Claims wait until it is done. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #note(owner: number, take: (claim: Claim) => Promise<ClaimedRow[]>): Promise<ClaimedRow[]> {
    const number = ++this.#numbers
    const ended = this.#ended
    this.#ended = []
    const rows = await take({ number, ended })
    for (const { seq } of rows) this.#hold({ seq, claim: number, owner })
    if (rows.length > 0) this.#open.set(number, rows.length)
    return rows
  }

  /** Who claimed it before has it no more, and may not have been told yet. */
  #hold(holding: Holding): void {
    const before = this.#held.get(holding.seq)
    if (before !== undefined) this.drop(before)
    this.#held.set(holding.seq, holding)
  }

  #remove({ seq, claim }: Taken, isLost: boolean): void {
    if (this.#held.get(seq)?.claim !== claim) return
    this.#held.delete(seq)
    if (isLost) this.#doubtful.add(claim)
    const left = this.#open.get(claim)! - 1
    if (left > 0) this.#open.set(claim, left)
    else {
      this.#open.delete(claim)
      if (!this.#doubtful.has(claim)) this.#ended.push(claim)
    }
  }

  async #check(): Promise<void> {
    if (this.#claims > 0) await new Promise<void>(resolve => (this.#onQuiet = resolve))
    // Whatever gets lost from now on raises new doubts.
    this.#isSure = true
    const doubtful = this.#doubtful
    this.#doubtful = new Set()
    try {
      await this.#giveBackOthers([...this.#held.values()], [...this.#open.keys()])
    } catch (error) {
      this.#isSure = false
      for (const claim of doubtful) this.#doubtful.add(claim)
      throw error
    }
  }
}
