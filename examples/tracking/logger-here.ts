import { pinoEvents } from 'lazaret/pino'
import pino from 'pino'
import { events } from './events.ts'

export const logger = pino(
  pino.multistream([{ stream: process.stdout }, { level: 'warn', stream: pinoEvents(events) }]),
)
