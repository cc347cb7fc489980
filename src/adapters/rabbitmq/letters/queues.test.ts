import { createServer } from 'node:http'
import { afterAll, describe, expect, it } from 'vitest'
import { resolveCollector } from './options.ts'
import { findQueues } from './queues.ts'

const asked: { url: string | undefined; authorization: string | undefined }[] = []
const pages = [
  ['orders', 'orders.dlq', 'bills_error'],
  ['mails.dlq', 'orders.dlq.quarantine.schema'],
]
const server = createServer((request, response) => {
  const { url, headers } = request
  asked.push({ url, authorization: headers.authorization })
  const page = Number(new URL(url!, 'http://x').searchParams.get('page'))
  if (url!.startsWith('/mq/api/queues/gone')) response.statusCode = 404
  response.end(JSON.stringify({ page_count: 2, items: pages[page - 1]!.map(name => ({ name })) }))
})
server.listen(0, '127.0.0.1')
await new Promise(resolve => server.once('listening', resolve))
afterAll(() => server.close())
const management = `http://127.0.0.1:${(server.address() as { port: number }).port}/mq`

const find = (queues: readonly string[], vhost = '/a%2Fb') =>
  findQueues(resolveCollector({ url: `amqp://shop:p%40ss@host${vhost}`, queues, management }))

describe('which queues are collected', () => {
  it('F3: those that are named, and those that a pattern finds, each once', async () => {
    expect(await find(['*.dlq', 'orders.dlq', 'late_error'])).toEqual([
      'orders.dlq',
      'late_error',
      'mails.dlq',
    ])
    expect(asked[0]).toEqual({
      url: '/mq/api/queues/a%2Fb?columns=name&page=1&page_size=500',
      authorization: `Basic ${Buffer.from('shop:p@ss').toString('base64')}`,
    })
    expect(asked).toHaveLength(2)
  })

  it('F7: a server that does not answer is named, without user and password', async () => {
    const told = await find(['*.dlq'], '/gone').catch(String)
    expect(told).toContain('(management): listing the queues failed: HTTP 404')
    expect(told).not.toContain('p@ss')
  })

  it('F7: names alone need nobody to list them; a pattern does', async () => {
    const url = 'amqp://host'
    expect(await findQueues(resolveCollector({ url, queues: ['a.dlq'] }))).toEqual(['a.dlq'])
    expect(() => resolveCollector({ url, queues: ['a.dlq', '*.dlq'] })).toThrow(
      "give the address of the management API; only that API can list the queues that match '*.dlq'",
    )
  })
})
