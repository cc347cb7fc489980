import { changeLetter, type DeliveredReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptRecord, DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Settlement } from '../../../ports/broker.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { LetterRow } from '../connection/calls.ts'
import type { Connection } from '../connection/connection.ts'
import { LetterSaver } from '../letters/letter-saver.ts'
import type { SqliteDelivery } from './delivery.ts'

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
        return delivery.replay === undefined ? writer.call('done', at) : this.#recover(delivery)
      case 'retry': {
        const { notBefore, ended } = settlement
        return writer.call('retry', at, notBefore, ended.length, delivery.withEnded(ended))
      }
      case 'release':
        return writer.call('release', at, settlement.notBefore, delivery.takenBack)
      case 'dead': {
        const { letter, saved } = settlement
        if (saved) return writer.call('dead', at, letter.id, null, null) as Promise<boolean>
        return this.#bury(delivery, letter)
      }
    }
  }

  async #bury(delivery: SqliteDelivery, letter: DeadLetter): Promise<boolean> {
    const { at, replay } = delivery
    if (replay?.isRedirected) await this.#endReplay(replay, replay.letterId, 'dead')
    const put = (row: LetterRow, revision: number | null) =>
      this.#connection.writer.call('dead', at, letter.id, row, revision)
    return this.#saver.save(letter, put, answer => answer === true)
  }

  /** Its letter may be kept here and by nobody else: so it is resolved here, before the event is acknowledged. */
  async #recover(delivery: SqliteDelivery): Promise<boolean> {
    const { at, letterId, replay } = delivery
    if (replay !== undefined) await this.#endReplay(replay, replay.letterId ?? letterId, 'resolved')
    return this.#connection.writer.call('done', at)
  }

  /** A letter that is gone, or is not replaying under this delivery's replay, is left so. */
  async #endReplay(replay: DeliveredReplay, id: string | undefined, to: 'resolved' | 'dead'): Promise<void> {
    if (id === undefined) return
    const { writer, options } = this.#connection
    let found = await this.#connection.read('getLetter', id)
    while (found !== undefined) {
      const letter = this.#codec.decode(found.body)
      const changed = changeLetter(letter, { to, at: options.clock.now(), under: replay.claim })
      if (changed === undefined) return
      const answer = await this.#saver.replace(changed, found.revision, (row, revision) =>
        writer.call('sendLetter', row, revision, Number.MAX_SAFE_INTEGER),
      )
      found = typeof answer === 'object' ? answer : undefined
    }
  }
}
