import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import { gatherWrites } from './amqplib-internals.ts'

it('F1: what is written in one go leaves in one go, in order', async () => {
  const left: string[][] = []
  const stream = new Writable({
    writev: (chunks, done) => {
      left.push(chunks.map(({ chunk }) => String(chunk)))
      done()
    },
    write: (chunk, _, done) => {
      left.push([String(chunk)])
      done()
    },
  })
  gatherWrites({ connection: { stream } })
  for (const frame of ['a', 'b', 'c']) stream.write(frame)
  expect(left).toEqual([])
  await yieldToEventLoop()
  stream.write('d')
  await yieldToEventLoop()
  expect(left).toEqual([['a', 'b', 'c'], ['d']])
})

it('F1: a client that does not show its stream is left alone', () => {
  for (const connection of [{}, { connection: {} }, { connection: { stream: {} } }])
    expect(() => gatherWrites(connection)).not.toThrow()
})
