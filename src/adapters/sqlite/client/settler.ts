import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import { transition } from '../../../core/dead-letter/state.ts'
import type { Settlement } from '../../../ports/broker.ts'
import type { LetterCodec } from '../../../ports/letter-codec.ts'
import type { LetterRow } from '../calls.ts'
import type { Connection } from './connection.ts'
import type { SqliteDelivery } from './delivery.ts'
import { LetterSaver } from './letter-saver.ts'

/** Records attempts and settlements; false when the delivery is not open any more. */
export class Settler {
  readonly #connection: Connection
  readonly #saver: LetterSaver
  readonly #codec: LetterCodec

  constructor(connection: Connection, codec: LetterCodec) {
    this.#connection = connection
    this.#codec = codec
    this.#saver = new LetterSaver(codec)
  }

  begin(delivery: SqliteDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    const [, owner, place] = delivery.at
    const history = delivery.withEnded(ended)
    delivery.begun()
    return this.#connection.writer.call('begin', owner, place, ended.length, history)
  }

  settle(delivery: SqliteDelivery, settlement: Settlement): Promise<boolean> {
    const { writer } = this.#connection
    const { at } = delivery
    switch (settlement.outcome) {
      case 'done':
        return delivery.letterId === undefined
          ? writer.call('done', at)
          : this.#recover(delivery, delivery.letterId)
      case 'retry': {
        const { notBefore, ended } = settlement
        return writer.call('retry', at, notBefore, ended.length, delivery.withEnded(ended))
      }
      case 'release':
        return writer.call('release', at, settlement.notBefore, delivery.takenBack)
      case 'dead': {
        const { letter, saved } = settlement
        if (saved) return writer.call('dead', at, letter.id, null, null) as Promise<boolean>
        const put = (row: LetterRow, revision: number | null) =>
          writer.call('dead', at, letter.id, row, revision)
        return this.#saver.save(letter, put, answer => answer === true)
      }
    }
  }

  /** Its letter is kept here and by nobody else: so it is resolved here, before the event is acknowledged. */
  async #recover({ at }: SqliteDelivery, letterId: string): Promise<boolean> {
    const { writer } = this.#connection
    let found = await this.#connection.read('getLetter', letterId)
    while (found !== undefined) {
      const letter = this.#codec.decode(found.body)
      if (letter.state === 'resolved') break
      const resolved = transition(letter, 'resolved', this.#connection.options.clock.now())
      const answer = await this.#saver.replace(resolved, found.revision, (row, revision) =>
        writer.call('sendLetter', row, revision, Number.MAX_SAFE_INTEGER),
      )
      found = typeof answer === 'object' ? answer : undefined
    }
    return writer.call('done', at)
  }
}
