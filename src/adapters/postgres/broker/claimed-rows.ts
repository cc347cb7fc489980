import { PendingWork } from '../../../adapter-kit/pending-work.ts'

/** A row as one claim took it. */
export interface RowClaim {
  readonly seq: number
  /** The number of the claim. */
  readonly claim: number
}

export interface HeldRow extends RowClaim {
  /** The lease it was claimed for. */
  readonly owner: number
}

export interface ClaimNumber {
  /** The number that the claim is recorded under. */
  readonly number: number
  /** Earlier claims without any row in flight. Their records can be deleted. */
  readonly ended: readonly number[]
}

/** Makes one claim with its own number. */
export type MakeClaim<R> = (take: (claim: ClaimNumber) => Promise<R[]>) => Promise<R[]>

/** Gives back every row that the lease has in flight but these, which these claims took. */
type GiveBackOthers = (held: readonly HeldRow[], claims: readonly number[]) => Promise<void>

/**
 * The rows that this process knows it has, and the claims that took them. A claim whose answer is lost with its
 * connection may still have been made: its rows are in flight for a process that does not know of them. So from time to
 * time, while no claim is running, the process gives back the rows in flight that it does not know.
 *
 * A row can be lost and claimed again before its first delivery notices. Calls for one claim of a row never affect
 * another claim of the same row.
 */
export class ClaimedRows {
  readonly #giveBackOthers: GiveBackOthers
  /** The held rows with their latest claims, by the number of the row. */
  readonly #held = new Map<number, HeldRow>()
  /** The number of held rows of each claim. */
  readonly #open = new Map<number, number>()
  #ended: number[] = []
  /** Claims that lost a row. Their records are needed until the next check. */
  #doubtful = new Set<number>()
  #lastNumber = 0
  readonly #running = new PendingWork()
  /** Whether every row in flight is known. */
  #isSure = true
  #checking: Promise<void> | undefined

  constructor(giveBackOthers: GiveBackOthers) {
    this.#giveBackOthers = giveBackOthers
  }

  async claim<R extends RowClaim>(owner: number, take: (make: MakeClaim<R>) => Promise<R[]>): Promise<R[]> {
    // In a loop, because another caller may begin the next check as soon as one ends.
    while (!this.#isSure || this.#checking !== undefined) await this.check()
    this.#running.begin()
    const taken: R[] = []
    try {
      return await take(async each => {
        const rows = await this.#record(owner, each)
        taken.push(...rows)
        return rows
      })
    } catch (error) {
      // No subscription gets the rows that were taken before the failure.
      for (const row of taken) this.lose(row)
      this.#isSure = false
      throw error
    } finally {
      this.#running.end()
    }
  }

  /** The row is settled, or another process has it. */
  drop(row: RowClaim): void {
    this.#remove(row, false)
  }

  /** The state of the row is unknown. If it is still in flight, the next check releases it. */
  lose(row: RowClaim): void {
    this.#remove(row, true)
    this.#isSure = false
  }

  /** Gives back rows in flight that this process does not know. Claims wait until it is done. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #record<R extends RowClaim>(owner: number, take: (claim: ClaimNumber) => Promise<R[]>): Promise<R[]> {
    const number = ++this.#lastNumber
    const ended = this.#ended
    this.#ended = []
    const rows = await take({ number, ended })
    for (const { seq } of rows) {
      // The process that claimed it before has lost it, and may not know yet.
      const before = this.#held.get(seq)
      if (before !== undefined) this.drop(before)
      this.#held.set(seq, { seq, claim: number, owner })
    }
    if (rows.length > 0) this.#open.set(number, rows.length)
    return rows
  }

  #remove({ seq, claim }: RowClaim, isLost: boolean): void {
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
    if (this.#running.count > 0) await this.#running.settled()
    // The next check finds rows that are lost from now on.
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
