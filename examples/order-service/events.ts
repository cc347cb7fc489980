import { join } from 'node:path'
import { createDispatcher, type Dispatcher } from 'lazaret'
import { fileDeadLetters, fileJournal } from 'lazaret/file'
import { loki, sentry } from 'lazaret/sinks'
import type { Config } from './config.ts'
import { log } from './log.ts'

export type OrderEvents = Dispatcher<'loki' | 'sentry'>

/** Where the shop's events go. The file says what becomes of them when that is not well. */
export function createEvents(config: Config, lokiUrl: string, dsn: string): OrderEvents {
  const { dir } = config.service
  return createDispatcher({
    ...config.dispatcher(),
    sinks: {
      loki: loki({ url: lokiUrl, labels: { app: 'order-service' } }),
      sentry: sentry({ dsn, environment: 'example' }),
    },
    journal: fileJournal({ dir: join(dir, 'journal') }),
    deadLetters: fileDeadLetters({ dir: join(dir, 'dead-letters') }),
    observer: {
      breakerChanged: ({ name, from, to }) => log('breaker', { sink: name, from, to }),
      letterSaved: ({ name, letter }) => log('dead letter', { sink: name, reason: letter.cycle.reason }),
    },
  })
}
