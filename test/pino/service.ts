// Logs and is done: whatever it logged has to be sent by the time the process is gone.
import { logger } from './logger.ts'

for (let n = 0; n < 200; n++) logger.info({ n }, 'line %d', n)
logger.error(new Error('refused'), 'last words')
