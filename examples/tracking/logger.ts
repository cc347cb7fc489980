import pino from 'pino'

export const logger = pino({
  transport: {
    target: 'lazaret/pino',
    options: { module: import.meta.resolve('./events.ts') },
  },
})

logger.error({ orderId: 3 }, 'no payment')
