import { pino } from 'pino'
import { yieldToEventLoop } from '../../src/ports/clock.ts'
import type { Candidate, Targets } from './candidate.ts'
import { payloadOf, TYPE } from './payload.ts'

/** The interval of batches in seconds. With the default of five the last few thousand events would wait for it. */
const INTERVAL_S = 0.1

/** In a worker thread with batches, as its authors recommend, and without the limit over which it drops lines. */
export function pinoLoki({ live, dead }: Targets): Candidate {
  const targets = [...live, ...dead].map(host => ({
    target: 'pino-loki',
    options: {
      host,
      labels: { job: 'bench' },
      batching: { interval: INTERVAL_S, maxBufferSize: 0 },
      silenceErrors: true,
    },
  }))
  const transport = pino.transport({ targets })
  const logger = pino({}, transport)
  return {
    emit(order) {
      logger.info(payloadOf(order), TYPE)
    },
    room: yieldToEventLoop,
    async close() {
      transport.end()
    },
  }
}
