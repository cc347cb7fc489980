// `node test/crash/tracking-process.ts <file|sqlite> <folder> <url> <work>` is a service that tracks to a sink over HTTP.
// It says what it did, line by line, because it may not live to say it later.
import { join } from 'node:path'
import { fileDeadLetters, fileJournal } from '../../src/adapters/file/index.ts'
import { sqliteJournal } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import type { Sink } from '../../src/ports/sink.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'

const [kind, folder, url, work] = process.argv.slice(2) as [string, string, string, string]
const MOST_TRACKED = 2_000
const LEFT_AT_CLOSE = 50
const POLL_MS = 5

const sink: Sink = {
  async write(batch, { signal }) {
    const body = JSON.stringify(batch.map(({ id }) => id))
    const response = await fetch(url, { method: 'POST', body, signal })
    if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status })
  },
}

const journal =
  kind === 'file'
    ? fileJournal({ dir: join(folder, 'journal') })
    : sqliteJournal({ path: join(folder, 'journal.db') })

const events = createDispatcher({
  sinks: { sink },
  deadLetters: fileDeadLetters({ dir: join(folder, 'dead-letters') }),
  journal,
  critical: { types: ['payment.*'] },
  retry: { attempts: 100 },
  breaker: 'off',
  timeoutMs: 60_000,
})

async function track(type: string): Promise<void> {
  const { event } = await events.track({ type }, { wait: 'accepted' })
  process.stdout.write(`tracked ${event!.id}\n`)
}

/** Tracks until it is killed; nothing is sent, because the sink does not answer. */
async function untilKilled(): Promise<void> {
  for (let n = 0; n < MOST_TRACKED; n++) await track('payment.failed')
  await new Promise(() => {})
}

/** Tracks ordinary events while the sink is dead, and closes. */
async function thenClose(): Promise<void> {
  for (let n = 0; n < LEFT_AT_CLOSE; n++) await track('page.seen')
  await events.close({ graceMs: 50 })
  process.stdout.write('closed\n')
}

/** Sends what is left, and ends when nothing is. */
async function drain(): Promise<void> {
  while ((await journal.pending()).entries.length > 0)
    await new Promise<void>(resolve => systemClock.schedule(POLL_MS, resolve))
  await events.close()
}

if (work === 'untilKilled') await untilKilled()
else if (work === 'thenClose') await thenClose()
else await drain()
