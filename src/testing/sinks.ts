import type { Sink } from '../ports/sink.ts'

/** Chooses the error of a write by its number, from 1 on. Without an error the write succeeds. */
export type ErrorForWrite = (write: number) => Error | undefined

/** Wraps a sink so that chosen writes fail before anything is written. Its probe fails in the same way. */
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
  /** Whether a write rejects when its signal aborts [true]. Otherwise the write never ends. */
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
