import { API, route } from '../http/route.ts'
import { changeEvent } from '../schema/stream.ts'

export const streamRoutes = [
  route({
    method: 'GET',
    path: `${API}/stream`,
    about: 'Server-sent events: `change` says what to ask for again, `overview` has the small numbers.',
    answer: changeEvent,
    media: 'text/event-stream',
    handle: ({ room, caller, request }) =>
      // Hono asks the same of HEAD and drops the body: no stream is opened for that.
      request.method === 'HEAD'
        ? new Response(null, { headers: { 'content-type': 'text/event-stream' } })
        : room.live.open(caller.name, request.headers.has('last-event-id')),
  }),
]
