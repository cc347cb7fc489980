import type { DatabaseSync } from 'node:sqlite'
import type { Part } from './part.ts'

/** Numbers that only ever grow, over all processes, deletions and restarts. */
export class Counters implements Part {
  readonly #read
  readonly #write
  readonly #values = new Map<string, { value: number; isNew: boolean }>()

  constructor(db: DatabaseSync) {
    this.#read = db.prepare('select value from counters where name = ?')
    this.#write = db.prepare(
      'insert into counters(name, value) values(?, ?) on conflict(name) do update set value = excluded.value',
    )
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
      if (counter.isNew) this.#write.run(name, counter.value)
      counter.isNew = false
    }
  }

  forget(): void {
    this.#values.clear()
  }

  #counter(name: string): { value: number; isNew: boolean } {
    let counter = this.#values.get(name)
    if (counter === undefined) {
      const row = this.#read.get(name) as { value: number } | undefined
      counter = { value: row?.value ?? 0, isNew: false }
      this.#values.set(name, counter)
    }
    return counter
  }
}
