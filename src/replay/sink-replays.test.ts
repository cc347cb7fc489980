import { describe, expect, it } from 'vitest'
import { memorySink } from '../adapters/memory/index.ts'
import { memoryDeadLetters } from '../adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { replayHeaders } from '../core/event/replay-headers.ts'
import { createDispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { TestTiming } from '../testing/conformance/harness.ts'
import { createFactory } from '../testing/factories.ts'
import { sinkReplays } from './sink-replays.ts'

/** A dispatcher with a sink that can be held up, and a way to replay a letter of a handler to it. */
async function setUp() {
  const letters = memoryDeadLetters()
  const sink = memorySink()
  const open = Promise.withResolvers<void>()
  const loki = {
    write: async (batch: readonly LazaretEvent[], context: { signal: AbortSignal }) => {
      await open.promise
      return sink.write(batch, context)
    },
  }
  const dispatcher = createDispatcher({ sinks: { loki }, deadLetters: letters })
  const target = sinkReplays(dispatcher, letters)
  const replay = async (handler: string) => {
    const letter = createFactory().letter({ handler })
    await letters.send(letter)
    const event = { ...letter.event, headers: replayHeaders(letter.event, { letterId: letter.id }) }
    return { letter, send: () => target.send([event], letter.origin) }
  }
  return { letters, sink, dispatcher, open, replay }
}

describe('letters of sinks', () => {
  it('E17, K8: go to their sink once, however often they are handed on meanwhile', async () => {
    const { letters, sink, dispatcher, open, replay } = await setUp()
    const { letter, send } = await replay('loki')
    await Promise.all([send(), send()])
    await send()
    open.resolve()
    const isResolved = async () => (await letters.get(letter.id))?.state === 'resolved'
    await new TestTiming({}).eventually(isResolved, 'resolving the letter')
    await dispatcher.close()
    expect(sink.events.map(({ id }) => id)).toEqual([letter.event.id])
  })

  it('B11: go to their sink once, though another runner of the process takes the replay up meanwhile', async () => {
    const { letters, sink, dispatcher, open } = await setUp()
    const letter = createFactory().letter({ handler: 'loki' })
    await letters.send(letter)
    const event = { ...letter.event, headers: replayHeaders(letter.event, { letterId: letter.id }) }
    for (let runner = 0; runner < 3; runner++)
      await sinkReplays(dispatcher, letters).send([event], letter.origin)
    open.resolve()
    await dispatcher.close()
    expect(sink.events.map(({ id }) => id)).toEqual([letter.event.id])
  })

  it('E17: are refused when their sink is not here; those of the entry limit are for every sink', async () => {
    const { sink, dispatcher, open, replay } = await setUp()
    open.resolve()
    for (const handler of ['old-loki', 'constructor'])
      await expect((await replay(handler)).send()).rejects.toThrow(
        `this process has no sink or function '${handler}'`,
      )
    await (await replay('*')).send()
    await dispatcher.close()
    expect(sink.events).toHaveLength(1)
  })
})
