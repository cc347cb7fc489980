import fastify from 'fastify'
import { fastifyRequests } from 'lazaret/requests'
import { events } from './events.ts'

export const app = fastify()
await app.register(fastifyRequests())
app.post('/orders', async (request, reply) => {
  await events.track({ type: 'order.placed', payload: request.body })
  return reply.status(202).send()
})
