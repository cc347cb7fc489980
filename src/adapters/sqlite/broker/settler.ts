import type { DeliveredReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptRecord, DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Settlement } from '../../../ports/broker.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import { isLetterFault, UnreadableLetterError } from '../../../ports/dead-letters.ts'
import type { Connection } from '../connection/connection.ts'
import { LetterSaver } from '../letters/letter-saver.ts'
import type { LetterRow } from '../letters/letter-table.ts'
import type { OpenDelivery } from './broker-tables.ts'
import type { SqliteDelivery } from './delivery.ts'

/** Records attempts and settlements. Returns false if the delivery is no longer open. */
export class Settler {
  readonly #connection: Connection
  readonly #saver: LetterSaver
  /** Deliveries that could not be given back yet. */
  #notGivenBack: OpenDelivery[] = []

  constructor(connection: Connection, codec: LetterCodec) {
    this.#connection = connection
    this.#saver = new LetterSaver(connection, codec)
  }

  begin(delivery: SqliteDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    const history = delivery.withEnded(ended)
    delivery.recordStart()
    return this.#connection.write('broker', 'begin', delivery.at, ended.length, history)
  }

  /** `unreadable` receives the error of a letter that stays as it is, because this process cannot read it. */
  async settle(
    delivery: SqliteDelivery,
    settlement: Settlement,
    unreadable: (error: UnreadableLetterError) => void,
  ): Promise<boolean> {
    const { at, replay, letterId } = delivery
    switch (settlement.outcome) {
      case 'done':
        // Only this database may have the letter, so the letter is resolved here before the event is acknowledged.
        if (replay !== undefined)
          await this.#endReplay(replay, replay.letterId ?? letterId, 'resolved', unreadable)
        return this.#connection.write('broker', 'done', at)
      case 'retry': {
        const { notBefore, ended } = settlement
        const history = delivery.withEnded(ended)
        return this.#connection.write('broker', 'retry', at, notBefore, ended.length, history)
      }
      case 'release':
        return this.#release(delivery, settlement.notBefore)
      case 'dead':
        return this.#settleDead(delivery, settlement.letter, settlement.saved, unreadable)
    }
  }

  /** Never rejects. Deliveries that the database does not accept now are released later. */
  async giveBack(deliveries: readonly OpenDelivery[]): Promise<void> {
    if (deliveries.length === 0) return
    await this.#connection
      .write('broker', 'giveBack', deliveries)
      .catch(() => this.#notGivenBack.push(...deliveries))
  }

  /** Never rejects. The letter of the event cannot be saved now, and an attempt at once would end in the same way. */
  async giveBackLater(delivery: SqliteDelivery, delayMs: number): Promise<void> {
    const notBefore = this.#connection.options.clock.now() + delayMs
    await this.#release(delivery, notBefore).catch(() => this.giveBack([delivery.at]))
  }

  async retryGivingBack(): Promise<void> {
    await this.giveBack(this.#notGivenBack.splice(0))
  }

  #release({ at, running }: SqliteDelivery, notBefore: number): Promise<boolean> {
    return this.#connection.write('broker', 'release', at, notBefore, running > 0 ? 1 : 0)
  }

  async #settleDead(
    { at, replay }: SqliteDelivery,
    letter: DeadLetter,
    isSaved: boolean,
    unreadable: (error: UnreadableLetterError) => void,
  ): Promise<boolean> {
    if (!isSaved && replay?.isRedirected) await this.#endReplay(replay, replay.letterId, 'dead', unreadable)
    const put = (row: LetterRow | null, revision: number | null) =>
      this.#connection.write('broker', 'dead', at, letter.id, row, revision)
    return (await (isSaved ? put(null, null) : this.#saver.save(letter, put))) === true
  }

  /**
   * A letter that is gone, or is not replaying under this delivery's replay, is left so. So is one that cannot be read: the event
   * must not run again because of it.
   */
  async #endReplay(
    replay: DeliveredReplay,
    id: string | undefined,
    to: 'resolved' | 'dead',
    unreadable: (error: UnreadableLetterError) => void,
  ): Promise<void> {
    const at = this.#connection.options.clock.now()
    if (id === undefined) return
    try {
      await this.#saver.change(id, { to, at, onlyIfSentBy: replay.claim })
    } catch (error) {
      if (!isLetterFault(error)) throw error
      unreadable(new UnreadableLetterError(id, error))
    }
  }
}
