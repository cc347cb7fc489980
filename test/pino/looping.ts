// A module that logs through the transport it is loaded by: by mistake, and without end if nobody stops it.
import { logger } from './logger.ts'

export { events } from './events.ts'

logger.info('one more thread')
