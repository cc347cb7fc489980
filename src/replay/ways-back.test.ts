import { beforeEach, describe, expect, it } from 'vitest'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { replayEvent } from './resend.ts'
import type { ReplayTarget } from './runner.ts'
import { toBroker } from './ways-back.ts'

const make = createFactory({ clock: new FakeClock() })
const letter = make.letter()
const again = replayEvent(letter, { id: 'r', to: undefined } as never, 1)

let sent: string[]
let sinks: ReplayTarget
const broker = { publish: async () => void sent.push('broker') }
beforeEach(() => {
  sent = []
  sinks = { send: async () => void sent.push('sinks') }
})

describe('the way back of letters from a store that is a broker', () => {
  it('E17: is another one for those that came from no broker', async () => {
    await toBroker(broker, sinks).send([again], {})
    await toBroker(broker, sinks).send([again], { broker: 'sqlite' })
    expect(sent).toEqual(['sinks', 'broker'])
  })

  it('is the broker for all of them where there is no other', async () => {
    await toBroker(broker, undefined).send([again], {})
    expect(sent).toEqual(['broker'])
  })

  it('B13: is the broker for what shall go to another channel', async () => {
    const redirected = replayEvent(letter, { id: 'r', to: 'orders-2' } as never, 1)
    await toBroker(broker, sinks).send([redirected], {})
    expect(sent).toEqual(['broker'])
  })
})
