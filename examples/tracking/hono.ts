import { Hono } from 'hono'
import { honoRequests } from 'lazaret/requests'
import { events } from './events.ts'

export const app = new Hono()
app.use(honoRequests())
app.post('/orders', async c => {
  await events.track({ type: 'order.placed', payload: await c.req.json() })
  return c.body(null, 202)
})
