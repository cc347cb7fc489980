import type { ClientRequest } from 'node:http'
import type { SendRequest, SentryClient, SentryEnvelope, SentrySdk, SentryTransport } from './sdk.ts'

/** The key of a request: the id of its event, or the envelope itself if there is none. */
type RequestKey = string | SentryEnvelope

/** A client whose requests can be ended. */
export interface CancellableClient {
  readonly client: SentryClient
  /** Ends a request after its caller has stopped waiting. */
  stop(key: RequestKey): void
}

interface OwnClientSettings {
  readonly dsn: string
  readonly release: string | undefined
  readonly environment: string | undefined
}

/** More than the requests that a lane has in progress. The SDK drops requests without room. */
const BUFFER_SIZE = 1_000

/**
 * Opens a separate client: no integrations, no globals, no hooks on the process except its own `beforeExit`. So it
 * neither changes nor reads the setup of `Sentry.init`.
 */
export async function openOwnClient(sdk: SentrySdk, settings: OwnClientSettings): Promise<CancellableClient> {
  const { dsn, release, environment } = settings
  const requests = new Map<RequestKey, ClientRequest>()
  const { request } = await (dsn.startsWith('https:') ? import('node:https') : import('node:http'))
  const client = new sdk.NodeClient({
    dsn,
    ...(release !== undefined && { release }),
    ...(environment !== undefined && { environment }),
    integrations: [],
    stackParser: sdk.defaultStackParser,
    // Dropped events are retried: a client report would count events that arrive later.
    sendClientReports: false,
    enableRuntimeChannelInjection: false,
    transportOptions: { bufferSize: BUFFER_SIZE },
    // `request` has several forms; SendRequest is the one that the transport uses.
    transport: (options: object) =>
      cancellableTransport(sdk, options, request as unknown as SendRequest, requests),
  })
  return {
    client,
    stop(key) {
      requests.get(key)?.destroy(new Error('the sink stopped waiting for this request'))
    },
  }
}

/** A client that the service made: its transport is not ours to look into. */
export function callersClient(client: SentryClient): CancellableClient {
  return { client, stop: () => {} }
}

function cancellableTransport(
  sdk: SentrySdk,
  options: object,
  request: SendRequest,
  requests: Map<RequestKey, ClientRequest>,
): SentryTransport {
  let sending: RequestKey = ''
  const transport = sdk.makeNodeTransport({
    ...options,
    httpModule: {
      request(requestOptions: object, answered: (response: never) => void) {
        const made = request(requestOptions, answered)
        const key = sending
        requests.set(key, made)
        made.once('close', () => {
          if (requests.get(key) === made) requests.delete(key)
        })
        return made
      },
    },
  })
  return {
    send(envelope: SentryEnvelope) {
      const key = envelope[0].event_id ?? envelope
      // The request is made before send returns, so there is never more than one that is being made.
      sending = key
      // The SDK makes of an error the same silence as of a full queue. An answer it passes on as it is.
      return transport.send(envelope).then(undefined, (loss: unknown) => ({ loss }))
    },
    flush: timeoutMs => transport.flush(timeoutMs),
  }
}
