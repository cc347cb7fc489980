import type { Database } from './database.ts'
import type { Cached } from './writer-context.ts'

/** Numbers that only ever grow, over all processes, deletions and restarts. */
export class Counters implements Cached {
  readonly #db: Database
  readonly #values = new Map<string, { value: number; isNew: boolean }>()

  constructor(db: Database) {
    this.#db = db
  }

  next(name: 'letter' | 'place'): number {
    const counter = this.#counter(name)
    counter.isNew = true
    return ++counter.value
  }

  last(name: 'letter' | 'place'): number {
    return this.#counter(name).value
  }

  flush(): void {
    for (const [name, counter] of this.#values) {
      if (counter.isNew)
        this.#db.run`insert into counters(name, value) values(${name}, ${counter.value})
          on conflict(name) do update set value = excluded.value`
      counter.isNew = false
    }
  }

  forget(): void {
    this.#values.clear()
  }

  #counter(name: string): { value: number; isNew: boolean } {
    let counter = this.#values.get(name)
    if (counter === undefined) {
      const row = this.#db.get<{ value: number }>`select value from counters where name = ${name}`
      counter = { value: row?.value ?? 0, isNew: false }
      this.#values.set(name, counter)
    }
    return counter
  }
}
