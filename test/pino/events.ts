// What a service hands to `lazaret/pino`: the module that exports its dispatcher.
import { workerData } from 'node:worker_threads'
import { memoryDeadLetters } from '../../src/adapters/memory/index.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'

if (workerData === null) throw new Error('it belongs into the thread of the transport')
const url = process.env['RECEIVER']!

export const events = createDispatcher({
  sinks: {
    receiver: {
      async write(batch, { signal }) {
        const lines = batch.map(({ type, payload }) => ({ type, payload }))
        await fetch(url, { method: 'POST', body: JSON.stringify(lines), signal })
      },
    },
  },
  deadLetters: memoryDeadLetters(),
})
