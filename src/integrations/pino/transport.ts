import { Writable } from 'node:stream'
import { threadId } from 'node:worker_threads'
import { resolveOptions } from '../../core/options/resolve.ts'
import { milliseconds, optional, text, withDefault } from '../../core/options/rules.ts'
import { loadTracker } from './load-tracker.ts'
import { lineRules, type PinoEventsOptions } from './options.ts'
import { PinoEvents } from './pino-events.ts'

/** pino waits 10 s for a transport at the end of a process. Saving what is left takes its part of that. */
export const DEFAULT_TRANSPORT_GRACE_MS = 3_000

/** Options of `pinoTransport()`. */
export interface PinoTransportOptions extends PinoEventsOptions {
  /** The module that exports the dispatcher: a file URL, a path seen from where the process runs, or a package. */
  readonly module: string
  /** The name it is exported by ['events', else 'default']. */
  readonly export?: string | undefined
  /** How long the end of the process lets events go their way [3 s]. */
  readonly graceMs?: number | undefined
}

const rules = {
  ...lineRules,
  module: text({ maxLength: 4_096 }),
  export: optional(text({ maxLength: 200 })),
  graceMs: withDefault(milliseconds({ max: 9_000 }), DEFAULT_TRANSPORT_GRACE_MS),
}

/** Threads hand their environment on to those they start, so it tells what this one was started by. */
const INSIDE = 'LAZARET_PINO_TRANSPORT'

/**
 * What pino runs in its worker thread: `pino({ transport: { target: 'lazaret/pino', options: { module } } })`. The
 * dispatcher lives in that thread, and is closed when the logger ends or the process exits.
 */
export async function pinoTransport(options: PinoTransportOptions): Promise<Writable> {
  const own = resolveOptions('lazaret/pino', rules, ownOptions(options))
  const { module, export: name, graceMs, type, typeField } = own
  if (isNested()) return discarding()
  const dispatcher = await loadTracker({ module, export: name })
  const events = new PinoEvents(dispatcher, { type, typeField })
  const stream = new Writable({
    decodeStrings: false,
    write(piece: string | Buffer, _encoding, done) {
      // With `block` as overflow, a full buffer blocks pino's thread here, and not the service.
      events.take(piece.toString()).then(() => done(), done)
    },
    final(done) {
      const end = async () => {
        const settled = events.settle()
        await dispatcher.close({ graceMs })
        await settled
      }
      end().then(() => done(), done)
    },
  })
  return Object.assign(stream, { flush: (done: (error?: Error) => void) => events.flush(done) })
}

/** pino adds some of its own to the options of a transport. */
function ownOptions(options: PinoTransportOptions): PinoTransportOptions {
  const { $context, pinoWillSendConfig, ...own } = options as PinoTransportOptions & Record<string, unknown>
  return own
}

/**
 * Whether the module of another such transport has started this one, by logging with the logger of the service. Its lines
 * are about tracking; made events of, they would be tracked by the same module in one more thread, and so on.
 */
function isNested(): boolean {
  const outer = process.env[INSIDE]
  // Several targets of one logger share a thread.
  if (outer !== undefined && outer !== `${threadId}`) return true
  process.env[INSIDE] = `${threadId}`
  return false
}

function discarding(): Writable {
  return new Writable({ write: (_piece, _encoding, done) => done() })
}
