import { describe, expect, it } from 'vitest'
import { consumerWorld } from '../../test/support/consumer-world.ts'
import { memoryDeadLetters } from '../adapters/memory/index.ts'
import { PermanentError } from '../core/failure/signals.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { withDeadLetters } from './consumer/with-dead-letters.ts'
import { createDispatcher } from './dispatcher/dispatcher.ts'

const refuse = async () => {
  throw new PermanentError('no')
}

function deep(levels: number): object {
  return levels === 1 ? {} : { deeper: deep(levels - 1) }
}

describe('metadata of letters', () => {
  it('R15: a consumer adds an object, and later changes of it reach no letter', async () => {
    const metadata = { team: 'billing', tags: ['a'] }
    const it = consumerWorld({ handle: refuse, metadata })
    metadata.tags.push('b')
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(0)
    expect((await it.letters()).map(letter => letter.metadata)).toEqual([{ team: 'billing', tags: ['a'] }])
    await it.consumer.close()
  })

  it('R15: a function of a wrapped handler and of a dispatcher sees the event and the reason', async () => {
    const clock = new FakeClock()
    const deadLetters = memoryDeadLetters()
    const common = {
      deadLetters,
      clock,
      leaveOpen: true,
      metadata: ({ name, reason, handler }: { name: string; reason: string; handler: string }) => ({
        name,
        reason,
        handler,
      }),
    }
    const safe = withDeadLetters(refuse, { ...common, source: 'orders', name: 'mailer' })
    await safe()
    const events = createDispatcher({ ...common, sinks: { loki: { write: refuse } } })
    await events.track({ type: 'order.paid' }, { onFailure: 'swallow' })
    const all = (await deadLetters.list()).letters.map(({ metadata }) => metadata)
    expect(all).toHaveLength(2)
    expect(all).toContainEqual({ name: 'message', reason: 'permanent', handler: 'mailer' })
    expect(all).toContainEqual({ name: 'order.paid', reason: 'permanent', handler: 'loki' })
    await Promise.all([safe.close(), events.close()])
  })

  it('R15: text that only looks like a NUL is kept, and metadata may have 20 levels', async () => {
    const metadata = { text: '\\u0000 \\ud800', deep: deep(19) } as never
    const it = consumerWorld({ handle: refuse, metadata: () => metadata })
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(0)
    expect(await it.letters()).toMatchObject([{ metadata }])
    await it.consumer.close()
  })

  it.each([
    ['too large', { text: 'x'.repeat(8_192) }],
    ['no object', ['a']],
    ['a BigInt', { big: 1n }],
    ['a NUL', { text: 'a\u0000b' }],
    ['a NUL in a name', { deep: [{ 'a\u0000b': 1 }] }],
    ['half of a surrogate pair', { text: '\ud800' }],
    ['too deep', deep(21)],
    ['a text by their toJSON', { toJSON: () => 'text' }],
    ['a list by their toJSON', { toJSON: () => ['a'] }],
    ['null by their toJSON', { toJSON: () => null }],
  ])(
    'R15: metadata are refused as an option, and left out of a letter, when they are %s',
    async (_, wrong) => {
      expect(() => consumerWorld({ metadata: wrong as never })).toThrow(/consumer\.metadata: .*8192 bytes/s)
      const it = consumerWorld({ handle: refuse, metadata: () => wrong as never })
      await it.consumer.start()
      await it.publish('x')
      await it.clock.advance(0)
      expect(await it.letters()).toMatchObject([{ metadata: undefined }])
      expect(it.recorder.of('userFunctionFailed')).toMatchObject([{ function: 'metadata' }])
      await it.consumer.close()
    },
  )
})
