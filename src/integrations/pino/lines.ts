/** A line is held until its end has come; one that is longer is handed on in pieces. */
const MAX_HELD_CHARS = 4_194_304

/** Cuts what comes in pieces of any size into lines. */
export class Lines {
  #rest = ''

  /** The lines that are complete now, without empty ones. */
  add(piece: string): string[] {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop()!
    if (this.#rest.length > MAX_HELD_CHARS) lines.push(this.end())
    return lines.filter(isText)
  }

  /** The result of the last line. */
  end(): string {
    const rest = this.#rest
    this.#rest = ''
    return rest
  }
}

export function isText(line: string): boolean {
  return line.trim() !== ''
}
