import { describe, expect, it } from 'vitest'
import { memoryBroker } from '../../adapters/memory/broker/broker.ts'
import { memoryDeadLetters } from '../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../adapters/memory/sink.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { withDeadLetters } from '../../runtime/consumer/with-dead-letters.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { createRelay } from '../../runtime/relay/relay.ts'
import { createFactory } from '../../testing/factories.ts'
import { requireChannels } from './channel.ts'

const broker = memoryBroker()
const deadLetters = memoryDeadLetters()
const handle = () => {}
const REMEDY = "give a name of 1 to 120 letters, digits, '.', '_' or '-', such as 'orders.eu'"

describe('F3: a wrong channel is refused where it is given', () => {
  it.each<[string, (channel: string) => unknown]>([
    ['consumer.channel', channel => createConsumer({ broker, deadLetters, channel, handle })],
    ['relay.channel', channel => createRelay({ from: broker, deadLetters, channel, name: 'r', to: handle })],
    [
      'relay.toChannel',
      toChannel => createRelay({ from: broker, deadLetters, channel: 'a', name: 'r', to: handle, toChannel }),
    ],
    ['withDeadLetters.source', source => withDeadLetters(handle, { source, deadLetters })],
    [
      'dispatcher.channel',
      channel => createDispatcher({ sinks: { memory: memorySink() }, deadLetters, channel }),
    ],
  ])('%s', (path, give) => {
    for (const channel of ['my orders', '../orders', 'a'.repeat(121)])
      expect(() => give(channel)).toThrow(
        new RegExp(`^  ${path.replace('.', '\\.')}: got .*; ${REMEDY}`, 'm'),
      )
    expect(() => give('orders.eu-1')).not.toThrow()
  })

  it('events: the first wrong one of a batch is named', () => {
    const { event } = createFactory()
    const wrong = { ...event({ id: 'e-2' }), channel: 'my orders' }
    expect(() => requireChannels([event(), event(), wrong])).toThrow(
      `event "e-2": 1 fault\n  channel: got "my orders"; ${REMEDY}`,
    )
    expect(() => requireChannels([event(), event()])).not.toThrow()
  })
})

describe('F7: a wrapper knows its own options and those of the consumer', () => {
  it.each([
    ['withDeadLetters.sorce: got "orders"; unknown option, did you mean \'source\'?', { sorce: 'orders' }],
    ['withDeadLetters.retires: got an object', { retires: { attempts: 3 } }],
    ["unknown option, did you mean 'retry'?", { retires: { attempts: 3 } }],
    [
      "withDeadLetters.passContxt: got true; unknown option, did you mean 'passContext'?",
      { passContxt: true },
    ],
    ['withDeadLetters.prefetch: got 3; unknown option', { prefetch: 3 }],
    ['withDeadLetters.describe: got 5; give a function', { describe: 5 as never }],
  ])('%s', (message, options) => {
    expect(() => withDeadLetters(handle, { source: 'orders', deadLetters, ...options })).toThrow(message)
  })

  it('relay', () => {
    const options = { from: broker, deadLetters, channel: 'a', name: 'r', to: handle, toChanel: 'b' }
    expect(() => createRelay(options)).toThrow(
      'relay.toChanel: got "b"; unknown option, did you mean \'toChannel\'?',
    )
  })
})
