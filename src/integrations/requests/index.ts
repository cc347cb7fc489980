export { expressRequests } from './express.ts'
export { type FastifyLike, type FastifyRequestsPlugin, fastifyRequests } from './fastify.ts'
export { honoRequests } from './hono.ts'
