import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { factoryOf } from '../../../test/support/memory-letters.ts'
import { memoryStore } from '../../adapters/memory/index.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { serveAgent } from './serve-agent.ts'

it('S10: a message that is too long ends the service, and its work with it', async () => {
  const input = new PassThrough()
  const errors: unknown[] = []
  const served = serveAgent({
    ...{ stores: memoryStore(), owner: 'ann', input, output: new PassThrough() },
    onError: error => void errors.push(error),
  })
  const chunk = Buffer.alloc(1_000_000, 'a')
  for (let count = 0; count < 11; count++) input.write(chunk)
  await served
  expect(errors.map(String).join()).toContain('exceeded maximum size')
})

/** Sends all requests at once, and then ends the input. */
function requestsBeforeEnd(
  ...calls: readonly { readonly name: string; readonly arguments: object }[]
): PassThrough {
  const input = new PassThrough()
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const requests = [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    ...calls.map((call, index) => ({ id: index + 2, method: 'tools/call', params: call })),
  ]
  for (const request of requests) input.write(`${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`)
  input.end()
  return input
}

it('S10: requests that are under way when the input ends are done and answered', async () => {
  const stores = memoryStore()
  const clock = new FakeClock()
  await stores.deadLetters.send(factoryOf(clock).letter())
  const [letter] = (await stores.deadLetters.list()).letters
  const output = new PassThrough()
  await serveAgent({
    ...{ stores, clock, owner: 'ann', allow: ['discard'], output },
    input: requestsBeforeEnd(
      { name: 'get_overview', arguments: {} },
      { name: 'discard_dlq_event', arguments: { id: letter!.id, reason: 'a test order' } },
    ),
  })
  const answers = String(output.read()).trim().split('\n')
  expect(answers.map(line => JSON.parse(line).id).sort()).toEqual([1, 2, 3])
  expect((await stores.deadLetters.get(letter!.id))?.state).toBe('discarded')
})

it.each(['its time is over', 'the service is stopped'])(
  'S10: a request that does not end holds up the end of the service until %s',
  async until => {
    const clock = new FakeClock()
    const stores = memoryStore()
    const asked = Promise.withResolvers<void>()
    stores.deadLetters.get = () => {
      asked.resolve()
      return new Promise(() => {})
    }
    const stop = new AbortController()
    const input = requestsBeforeEnd({ name: 'get_dlq_event_detail', arguments: { id: 'x' } })
    let hasEnded = false
    const served = serveAgent({
      ...{ stores, clock, owner: 'ann', output: new PassThrough(), input, signal: stop.signal },
      onError: () => {},
    }).then(() => {
      hasEnded = true
    })
    await asked.promise
    await clock.advance(4_000)
    expect(hasEnded).toBe(false)
    if (until === 'its time is over') await clock.advance(1_000)
    else stop.abort()
    await served
  },
)
