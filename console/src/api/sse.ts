export interface ServerEvent {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
}

/**
 * Reads server-sent events out of a text that arrives in pieces. EventSource cannot send a token in a header, so the
 * console reads the stream itself.
 */
export class EventReader {
  #rest = ''
  #id: string | undefined

  /** The events that this piece completes. */
  read(piece: string): ServerEvent[] {
    const blocks = (this.#rest + piece).replaceAll('\r\n', '\n').split('\n\n')
    this.#rest = blocks.pop() ?? ''
    return blocks.flatMap(block => this.#event(block))
  }

  #event(block: string): ServerEvent[] {
    let event = 'message'
    const data: string[] = []
    for (const line of block.split('\n')) {
      const [, name, value = ''] = /^([a-z]+)(?:: ?(.*))?$/.exec(line) ?? []
      if (name === 'event') event = value
      else if (name === 'data') data.push(value)
      else if (name === 'id') this.#id = value
    }
    return data.length === 0 ? [] : [{ id: this.#id, event, data: data.join('\n') }]
  }
}
