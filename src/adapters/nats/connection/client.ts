import { loadClient } from '../../../adapter-kit/load-client.ts'

/** The part of the module @nats-io/transport-node that we use. Any object with this member fits. */
export interface NatsClient {
  connect(options: object): Promise<NatsConnection>
}

/** A connection, which the client opens again by itself when it is lost. */
export interface NatsConnection {
  readonly info?: { readonly version: string; readonly max_payload: number } | undefined
  publish(subject: string, payload?: Uint8Array | string, options?: NatsPublishOptions): void
  subscribe(
    subject: string,
    options: { readonly callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription
  /** Resolves when the server has read everything that was sent before. */
  flush(): Promise<void>
  close(): Promise<void>
  closed(): Promise<unknown>
  isClosed(): boolean
  status(): AsyncIterable<{ readonly type: string; readonly error?: Error }>
}

interface NatsPublishOptions {
  readonly reply?: string
  /** The client calls `encode` only, so that headers need not pass through its slower class. A test checks this. */
  readonly headers?: { encode(): Uint8Array }
}

export interface NatsSubscription {
  unsubscribe(): void
  /** Resolves when no more messages can come. */
  drain(): Promise<void>
}

/** A message as the client hands it over. */
export interface NatsMessage {
  readonly subject: string
  readonly reply?: string
  readonly data: Uint8Array
  readonly headers?: NatsHeaders | undefined
  /** The bytes of the subject, the reply, the headers and the data. */
  size?(): number
}

/** The headers of a message. A message of the server itself has a status code. */
interface NatsHeaders extends Iterable<readonly [string, readonly string[]]> {
  readonly code: number
  readonly description: string
}

export async function loadNats(given: NatsClient | undefined): Promise<NatsClient> {
  return given ?? loadClient('@nats-io/transport-node', loadModule)
}

/** Only the types differ: the client has more members than we use. */
async function loadModule(): Promise<NatsClient> {
  return (await import('@nats-io/transport-node')) as unknown as NatsClient
}
