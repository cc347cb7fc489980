import type { ClientRequest } from 'node:http'
import { loadClient } from '../../../adapter-kit/load-client.ts'

/** The answer of a transport of the SDK. Without a status, nothing was sent or nobody answered. */
export interface SentryResponse {
  readonly statusCode?: number | undefined
  readonly headers?: { readonly [name: string]: string | null | undefined } | undefined
  /** The error of the connection. Only the sink's own transports report it. */
  readonly loss?: unknown
}

/** The headers of the envelope, then the headers and payload of each item. */
export type SentryEnvelope = readonly [
  headers: { readonly event_id?: string; readonly [name: string]: unknown },
  items: readonly (readonly [headers: object, payload: unknown])[],
]

interface KnownEvent {
  event_id?: string | undefined
}

/** A client of the SDK, such as `Sentry.getClient()` or a `NodeClient` of your own. */
export interface SentryClient {
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own types of events and hints vary with its version
  captureEvent(event: any, hint?: any): string
  // biome-ignore lint/suspicious/noExplicitAny: see above
  sendEnvelope(envelope: any): PromiseLike<SentryResponse>
  on(hook: 'preprocessEvent', listener: (event: KnownEvent) => void): () => void
  on(hook: 'beforeSendEvent', listener: (event: KnownEvent) => void): () => void
  on(hook: 'afterSendEvent', listener: (event: KnownEvent, response: SentryResponse) => void): () => void
  flush(timeoutMs?: number): PromiseLike<boolean>
  close(timeoutMs?: number): PromiseLike<boolean>
  getTransport(): unknown
  // biome-ignore lint/suspicious/noExplicitAny: see above
  getOptions(): { readonly sampleRate?: number | undefined; readonly stackParser?: any }
}

export interface SentryTransport {
  send(envelope: SentryEnvelope): PromiseLike<SentryResponse>
  flush(timeoutMs?: number): PromiseLike<boolean>
}

export interface SentryScope {
  setPropagationContext(context: { traceId: string; sampleRand: number; parentSpanId?: string }): unknown
}

/** The parts of `@sentry/node` that the sink uses. */
export interface SentrySdk {
  readonly NodeClient: new (options: object) => SentryClient
  readonly Scope: new () => SentryScope
  readonly defaultStackParser: unknown
  makeNodeTransport(options: object): SentryTransport
}

export type SendRequest = (options: object, answered: (response: never) => void) => ClientRequest

/** Loaded when the first batch is written: importing only types or options needs no client. */
export function loadSdk(): Promise<SentrySdk> {
  // An optional peer whose own types may be missing: SentrySdk names the part that is used.
  return loadClient('@sentry/node', async () => (await import('@sentry/node')) as unknown as SentrySdk)
}
