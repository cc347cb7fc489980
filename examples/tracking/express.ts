import express from 'express'
import { expressRequests } from 'lazaret/requests'
import { events } from './events.ts'

export const app = express()
app.use(expressRequests())
app.use(express.json())
app.post('/orders', async (request, response) => {
  await events.track({ type: 'order.placed', payload: request.body })
  response.status(202).end()
})
