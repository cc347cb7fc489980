import { Agent, request } from 'node:http'
import type { Sink } from '../../src/index.ts'

export function pushTo(url: string): Sink {
  const agent = new Agent({ keepAlive: true })
  return {
    write: (batch, { signal }) =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify(batch)
        const sent = request(
          url,
          { agent, method: 'POST', signal, headers: { 'content-length': Buffer.byteLength(body) } },
          response => {
            response
              .resume()
              .on('end', () => resolve())
              .on('error', reject)
          },
        )
        sent.on('error', reject).end(body)
      }),
    close: async () => agent.destroy(),
  }
}
