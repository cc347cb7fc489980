import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { Database } from './database.ts'
import type { Answer, CallBatch, Opening, ThreadData } from './messages.ts'
import type { Request } from './writer.ts'

// The entry of both threads of a database. Each thread loads only its own code, so that it starts quickly.

// Node 22 warns in every thread that its SQLite is experimental. The docs of this store say so.
process.removeAllListeners('warning')

/** The most requests in one transaction, so that the first request does not wait too long. */
const MAX_PER_TRANSACTION = 1_000

const port = parentPort!
const data = workerData as ThreadData
let isEnding = false

const { openDatabase, failureOf } = await import('./database.ts')
try {
  const db = openDatabase(data)
  const run = data.role === 'write' ? await writing(db) : await reading(db)
  port.on('message', (batch: CallBatch) => {
    for (let next: CallBatch | undefined = unlessEmpty(batch); next !== undefined; next = take())
      port.postMessage(run(next))
    if (!isEnding) return
    db.close()
    port.close()
  })
  port.postMessage({ opened: true, file: db.files.database } satisfies Opening)
} catch (error) {
  port.postMessage({ opened: false, failure: failureOf(error) } satisfies Opening)
  port.close()
}

type Run = (batch: CallBatch) => Answer

async function reading(db: Database): Promise<Run> {
  const { DatabaseReader } = await import('./reader.ts')
  const reader = new DatabaseReader(db)
  return batch => reader.run(batch)
}

/** Calls that arrive during a transaction still get into it. */
async function writing(db: Database): Promise<Run> {
  const { DatabaseWriter } = await import('./writer.ts')
  const writer = new DatabaseWriter(db)
  return batch =>
    writer.run(requestsOf(batch), soFar => {
      const more = soFar < MAX_PER_TRANSACTION ? take() : undefined
      return more && requestsOf(more)
    })
}

function take(): CallBatch | undefined {
  if (isEnding) return undefined
  const received = receiveMessageOnPort(port) as { readonly message: CallBatch } | undefined
  return received && unlessEmpty(received.message)
}

/** A batch of nothing is the end; it comes behind everything else. */
function unlessEmpty(batch: CallBatch): CallBatch | undefined {
  isEnding = batch.calls.length === 0
  return isEnding ? undefined : batch
}

function requestsOf({ now, steadyNow, calls }: CallBatch): readonly Request[] {
  return calls.map(call => ({ now, steadyNow, call }))
}
