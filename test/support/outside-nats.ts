import { JetStream, type StoredMessage } from '../../src/adapters/nats/connection/jetstream.ts'
import { Link } from '../../src/adapters/nats/connection/link.ts'
import { readLetter } from '../../src/adapters/nats/letters/own-letter.ts'
import { resolveNats } from '../../src/adapters/nats/options.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { mergeLetter } from '../../src/core/dead-letter/merge.ts'

let count = 0

/** Reads and writes streams without the broker under test. */
export class OutsideNats {
  readonly link: Link
  readonly jetstream: JetStream

  constructor(url: string) {
    this.link = new Link(resolveNats({ url }), `outside-${process.pid}-${++count}`)
    this.jetstream = new JetStream(this.link)
  }

  /** Sends bytes that say they are JSON. */
  async publishJson(subject: string, data: Uint8Array): Promise<void> {
    await this.link.call(subject, data, [['content-type', 'application/json']])
  }

  /** A request of JetStream, such as `STREAM.DELETE.ORDERS`. */
  async request(name: string, body: object = {}): Promise<unknown> {
    const { data } = await this.link.call(`$JS.API.${name}`, JSON.stringify(body))
    return JSON.parse(Buffer.from(data).toString('utf8'))
  }

  /** All messages of a stream. */
  async messages(stream: string): Promise<readonly StoredMessage[]> {
    const messages: StoredMessage[] = []
    if ((await this.jetstream.streamInfo(stream)) === undefined) return messages
    for (let seq = 1; ; ) {
      const message = await this.jetstream.message(stream, { seq, next_by_subj: '>' })
      if (message === undefined) return messages
      messages.push(message)
      seq = message.sequence + 1
    }
  }

  /** The letters of a dead-letter stream, with the cycles of one letter together. */
  async letters(stream: string): Promise<readonly DeadLetter[]> {
    const letters = new Map<string, DeadLetter>()
    for (const message of await this.messages(stream)) {
      const letter = readLetter(message)
      if (letter !== undefined) letters.set(letter.id, mergeLetter(letters.get(letter.id), letter))
    }
    return [...letters.values()]
  }

  async close(): Promise<void> {
    await this.link.close()
  }
}
