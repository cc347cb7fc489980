/**
 * The running attempts, in lists as they were recorded: attempts that began together share a list. A list is removed when
 * none of its attempts runs, so that the cost of a start does not depend on the number of other running attempts.
 */
export class RunningLists {
  readonly #lists = new Map<number, Set<string>>()
  readonly #listOf = new Map<string, number>()
  #over: number[] = []
  #numbers = 0

  /** Answers the number of the new list, and the numbers of those that can be removed. */
  begin(marks: readonly string[]): { readonly number: number; readonly over: readonly number[] } {
    const number = ++this.#numbers
    for (const mark of marks) {
      // An attempt that is retried in process is in an older list.
      this.end(mark)
      this.#listOf.set(mark, number)
    }
    this.#lists.set(number, new Set(marks))
    const over = this.#over
    this.#over = []
    return { number, over }
  }

  end(mark: string): void {
    const number = this.#listOf.get(mark)
    if (number === undefined) return
    this.#listOf.delete(mark)
    const list = this.#lists.get(number)!
    list.delete(mark)
    if (list.size > 0) return
    this.#lists.delete(number)
    this.#over.push(number)
  }
}
