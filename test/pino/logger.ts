import pino from 'pino'

const options = { module: process.env['MODULE'] }

export const logger = pino({
  transport: { target: new URL('../../src/integrations/pino/index.ts', import.meta.url).pathname, options },
})
