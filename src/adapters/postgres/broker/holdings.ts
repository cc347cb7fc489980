import type { ClaimedRow } from './claiming.ts'

/**
 * Which rows this process knows it has. A claim whose answer is lost with its connection may have been made all the same;
 * the rows are in flight then, for an owner that lives and does not know of them. So the table is gone through now and
 * then, at a moment without claims, for rows that the owner has and does not know: they are given back.
 */
export class Holdings {
  readonly #giveBackOthers: (held: readonly number[]) => Promise<void>
  readonly #held = new Set<number>()
  #claims = 0
  #onQuiet: (() => void) | undefined
  #isSure = true
  #checking: Promise<void> | undefined

  /** `giveBackOthers` gives back what the owner has in flight, but for these. */
  constructor(giveBackOthers: (held: readonly number[]) => Promise<void>) {
    this.#giveBackOthers = giveBackOthers
  }

  async claim(take: () => Promise<ClaimedRow[]>): Promise<ClaimedRow[]> {
    if (!this.#isSure) await this.check()
    else await this.#checking
    this.#claims++
    try {
      const rows = await take()
      for (const { seq } of rows) this.#held.add(seq)
      return rows
    } catch (error) {
      this.#isSure = false
      throw error
    } finally {
      if (--this.#claims === 0) this.#onQuiet?.()
    }
  }

  /** It is settled, or somebody else has it. */
  drop(seq: number): void {
    this.#held.delete(seq)
  }

  /** What became of it is not known: if it is still in flight, it is given back. */
  lose(seq: number): void {
    this.#held.delete(seq)
    this.#isSure = false
  }

  /** Gives back what is in flight without anybody knowing. Claims wait until it is done. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #check(): Promise<void> {
    if (this.#claims > 0) await new Promise<void>(resolve => (this.#onQuiet = resolve))
    // Whatever gets lost from now on raises new doubts.
    this.#isSure = true
    try {
      await this.#giveBackOthers([...this.#held])
    } catch (error) {
      this.#isSure = false
      throw error
    }
  }
}
