import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ProfileService } from './service.ts'

/** Answers the monitoring of the service: `/healthz/consumer` and `/metrics`. */
export async function listen(service: ProfileService, host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type }).end(body)
    service.health().then(
      health => {
        if (request.url === '/healthz/consumer')
          answer(health.status === 'UP' ? 200 : 503, 'application/json', JSON.stringify(health))
        else if (request.url === '/metrics') answer(200, 'text/plain; version=0.0.4', service.metrics.text())
        else answer(404, 'text/plain', 'there is /healthz/consumer and /metrics\n')
      },
      () => answer(500, 'text/plain', 'the health cannot be told\n'),
    )
  })
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
