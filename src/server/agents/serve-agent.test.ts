import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { memoryStore } from '../../adapters/memory/index.ts'
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
