import { asRequest } from '../../runtime/dispatcher/track/tracking-mode.ts'

type Hook = (request: unknown, reply: unknown, done: () => void) => void

/** What is needed of a Fastify instance. */
export interface FastifyLike {
  addHook(name: 'onRequest' | 'preValidation', hook: Hook): unknown
}

/** A Fastify plugin. */
export type FastifyRequestsPlugin = (fastify: FastifyLike, options: unknown, done: () => void) => void

/** Fastify gives a plugin a child instance. With this mark the plugin adds its hooks to the instance that registers it. */
const SKIP_OVERRIDE = Symbol.for('skip-override')

/** `fastify.register(fastifyRequests())`. */
export function fastifyRequests(): FastifyRequestsPlugin {
  const hook: Hook = (_request, _reply, done) => asRequest(done)
  const plugin: FastifyRequestsPlugin = (fastify, _options, done) => {
    fastify.addHook('onRequest', hook)
    // Once more when the body is there: it is read in the context of the socket.
    fastify.addHook('preValidation', hook)
    done()
  }
  return Object.assign(plugin, { [SKIP_OVERRIDE]: true })
}
