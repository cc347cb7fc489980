import { decodeHeaders, type HeaderList } from '../../src/adapters/nats/connection/headers.ts'

interface Published {
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: HeaderList
}

type Answer = object | undefined

/** A client whose server answers each message as `answer` says, and not at all if that is undefined. */
export function fakeNats(answer: (message: Published) => Answer) {
  return {
    async connect() {
      const callbacks: ((error: null, message: object) => void)[] = []
      return {
        info: { version: '2.12.0', max_payload: 1_000_000 },
        publish(
          subject: string,
          data: Uint8Array,
          options: { readonly reply?: string; readonly headers?: { encode(): Uint8Array } },
        ) {
          const headers = decodeHeaders(options.headers?.encode() ?? new Uint8Array())
          const text = answer({ subject, data, headers })
          if (text === undefined || options.reply === undefined) return
          const reply = { subject: options.reply, data: Buffer.from(JSON.stringify(text)) }
          queueMicrotask(() => callbacks[0]?.(null, reply))
        },
        subscribe(_: string, { callback }: { readonly callback: (error: null, message: object) => void }) {
          callbacks.push(callback)
          return { unsubscribe() {}, drain: async () => {} }
        },
        flush: async () => {},
        close: async () => {},
        closed: () => new Promise(() => {}),
        isClosed: () => false,
        status: () => ({
          [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
        }),
      }
    },
  }
}
