import type { Sink } from '../ports/sink.ts'

/** What to do with a write, by its number from 1 on: an error is thrown, anything else lets it through. */
export type ErrorForWrite = (write: number) => Error | undefined

/** A sink in front of another that fails as it is told, before anything is written. Its probe fails likewise. */
export function flakySink(inner: Sink, errorFor: ErrorForWrite): Sink & { readonly writes: number } {
  let writes = 0
  return {
    get writes() {
      return writes
    },
    async write(batch, context) {
      const error = errorFor(++writes)
      if (error !== undefined) throw error
      return await inner.write(batch, context)
    },
    async probe(context) {
      const error = errorFor(writes + 1)
      if (error !== undefined) throw error
      await inner.probe?.(context)
    },
    async close() {
      await inner.close?.()
    },
  }
}

/** Options of a sink whose writes never end. */
export interface HangingSinkOptions {
  /** Rejects when the signal aborts, as a well-behaved sink does [true]; a deaf one never ends. */
  readonly abortable?: boolean | undefined
}

/** A sink whose receiver never answers. */
export function hangingSink({ abortable = true }: HangingSinkOptions = {}): Sink & { readonly open: number } {
  let open = 0
  const hang = ({ signal }: { readonly signal: AbortSignal }) =>
    new Promise<never>((_, reject) => {
      open++
      if (!abortable) return
      const stop = () => {
        open--
        reject(signal.reason)
      }
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
  return {
    get open() {
      return open
    },
    write: (_, context) => hang(context),
    probe: context => hang(context),
  }
}
