import assert from 'node:assert/strict'
import { memoryBroker } from '../../../adapters/memory/index.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { SealError } from '../../../core/event/errors.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { type Codec, plainCodec } from '../../../ports/codec.ts'
import { createConsumer } from '../../../runtime/consumer/consumer.ts'
import { FakeClock } from '../../fake-clock.ts'
import { type DeadLetterStoreConformance, inLetterWorld, type LetterWorld } from './suite.ts'

const HANDLER = 'bill'
const REPLAY = 'replay-1'
/** The passing of time between two looks at the consumer. */
const LOOK_MS = 100

/** What a process that cannot read a letter gets from its codec. */
const UNREADABLE: Readonly<Record<string, () => Error>> = {
  'sealed with a missing key': () =>
    new SealError('event e1', "is sealed with key 'k1', and no key is given"),
  'of an unknown form': () => new TypeError('Cannot read properties of undefined'),
}

/** A letter that this process cannot read keeps no other event from being handled, and its own event is handled once. */
export function unreadableTests(suite: DeadLetterStoreConformance): void {
  for (const [what, error] of Object.entries(UNREADABLE)) {
    const codec = new SwitchableCodec(error)
    const skipBecause = suite.declares.codec ? undefined : 'declares no codec'
    const it = inLetterWorld(suite, { codec, skipBecause })

    it(`E10: a replay whose letter is ${what} is handled once, and its consumer continues`, async world => {
      const shop = await replayOfUnreadable(world, codec, () => {})
      await shop.until(() => shop.handled.length >= 2 && shop.isEmpty(), 'both events are handled')
      assert.deepEqual(shop.handled, [shop.replayed.id, shop.other.id])
      await shop.close()
      codec.isReadable = true
      // A store that knows the state beside the letter may resolve it, and one that finds damage may leave it out.
      const state = (await world.store.get(shop.letter.id))?.state
      assert.ok(state === undefined || state === 'replaying' || state === 'resolved', state)
    })

    it(`E10: a replay whose letter is ${what} and that fails again is kept, and its consumer continues`, async world => {
      const shop = await replayOfUnreadable(world, codec, event => {
        if (event.id !== shop.other.id) throw new Error('still broken')
      })
      await shop.until(() => shop.handled.includes(shop.other.id), 'the other event is handled')
      codec.isReadable = true
      await shop.until(() => shop.isEmpty(), 'the replay is settled')
      assert.equal((await world.store.get(shop.letter.id))?.state, 'dead')
      await shop.close()
    })
  }
}

/** A codec that can be made to fail, as that of a process without the key does. */
class SwitchableCodec implements Codec {
  isReadable = true
  readonly events = plainCodec.events
  readonly letters: Codec['letters']

  constructor(error: () => Error) {
    const decode = (text: string) => {
      if (!this.isReadable) throw error()
      return plainCodec.letters.decode(text)
    }
    this.letters = { encode: plainCodec.letters.encode, decode }
  }
}

interface Shop {
  readonly letter: DeadLetter
  readonly replayed: LazaretEvent
  readonly other: LazaretEvent
  /** The ids of the events that the handler has run for, in order. */
  readonly handled: readonly string[]
  isEmpty(): boolean
  until(isSo: () => boolean, what: string): Promise<void>
  close(): Promise<void>
}

/** A consumer that gets the replay of a letter that it cannot read, and then another event. */
async function replayOfUnreadable(
  { store, channel, fixture, timing, make }: LetterWorld,
  codec: SwitchableCodec,
  handle: (event: LazaretEvent) => void,
): Promise<Shop> {
  codec.isReadable = true
  const clock = fixture.clock ?? new FakeClock(timing.now())
  const broker = memoryBroker({ clock })
  const letter = make.letter({ event: make.event({ channel }), channel, handler: HANDLER })
  await store.send(letter)
  await store.change(letter.id, { to: 'replaying', at: timing.now(), replayId: REPLAY })
  codec.isReadable = false
  const handled: string[] = []
  const consumer = createConsumer({
    broker,
    channel,
    name: HANDLER,
    deadLetters: store,
    leaveOpen: true,
    clock,
    concurrency: 1,
    retry: { attempts: 1 },
    handle: event => {
      handled.push(event.id)
      handle(event)
    },
  })
  await consumer.start()
  const replay = { letterId: letter.id, handler: HANDLER, replayId: REPLAY, attempt: 1 }
  const replayed = { ...letter.event, headers: replayHeaders(letter.event, replay) }
  const other = make.event({ channel })
  await broker.publish([replayed, other])
  return {
    letter,
    replayed,
    other,
    handled,
    isEmpty: () => broker.depth(channel, HANDLER) === 0,
    until: (isSo, what) =>
      timing.eventually(async () => {
        if (!isSo()) await clock.advance(LOOK_MS)
        return isSo()
      }, what),
    async close() {
      await consumer.close()
      await broker.close()
    },
  }
}
