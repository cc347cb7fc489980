/** What a filter can ask for by name. */
export interface Kind {
  readonly channel: string
  readonly handler: string
  readonly type: string
  readonly reason: string
  readonly category: string
  /** The id of its group, also where that comes of the reason alone. */
  readonly group: string
}

/** A million letters are of a few hundred kinds. Each kind has a number, and is kept once. */
export class Kinds {
  readonly #numbers = new Map<string, number>()
  readonly #all: Kind[] = []
  #last: number | undefined

  get all(): readonly Kind[] {
    return this.#all
  }

  numberOf(kind: Kind): number {
    // Letters come in bursts: the next is mostly of the kind of the last.
    if (this.#last === undefined || !isSame(kind, this.#all[this.#last]!)) this.#last = this.#find(kind)
    return this.#last
  }

  #find({ channel, handler, type, reason, category, group }: Kind): number {
    // With their lengths, no two kinds make the same key, whatever the texts are.
    const key = `${channel.length} ${handler.length} ${type.length} ${reason.length} ${category.length} ${channel}${handler}${type}${reason}${category}${group}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#all.length
    this.#all.push({ channel, handler, type, reason, category, group })
    this.#numbers.set(key, number)
    return number
  }
}

function isSame(a: Kind, b: Kind): boolean {
  return (
    a.group === b.group &&
    a.type === b.type &&
    a.channel === b.channel &&
    a.handler === b.handler &&
    a.reason === b.reason &&
    a.category === b.category
  )
}
