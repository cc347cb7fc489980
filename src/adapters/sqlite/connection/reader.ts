import type { DatabaseSync } from 'node:sqlite'
import type { Answer, Batch, ReadCalls, Trouble } from './calls.ts'
import { troubleOf } from './database.ts'
import { readCalls } from './read-calls.ts'

/** Answers questions one after the other, each from one state of the database. */
export class Reader {
  readonly #calls: ReadCalls
  readonly #begin
  readonly #end
  #now = 0

  constructor(db: DatabaseSync) {
    this.#calls = readCalls(db, () => this.#now)
    this.#begin = db.prepare('begin')
    this.#end = db.prepare('commit')
  }

  run({ now, names, args }: Batch): Answer {
    this.#now = now
    const results: unknown[] = []
    const failed: [number, Trouble][] = []
    for (const [index, name] of names.entries()) {
      try {
        this.#begin.run()
        try {
          results[index] = Reflect.apply(this.#calls[name as keyof ReadCalls], this.#calls, args[index]!)
        } finally {
          this.#end.run()
        }
      } catch (error) {
        results[index] = undefined
        failed.push([index, troubleOf(error)])
      }
    }
    return { results, failed: failed.length === 0 ? undefined : failed }
  }
}
