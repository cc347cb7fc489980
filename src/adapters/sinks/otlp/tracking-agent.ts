import { AsyncLocalStorage } from 'node:async_hooks'
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { OtlpAgentOptions } from './exporter.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** The result of one export. */
interface Outcome {
  answered(answer: Answer): void
  /** There was no answer, or not the whole of it. */
  failed(error: Error): void
}

/** A larger answer is not an answer to an export; its beginning says enough. */
const MAX_BODY_BYTES = 65_536

/**
 * One export as its connection sees it. The exporter reports neither the status nor Retry-After nor refused records,
 * takes no signal, and retries by itself. This class adds all of that: it watches the first request, and prevents a
 * second one.
 */
export class ExportRequest {
  readonly #outcome: Outcome
  #request: ClientRequest | undefined

  constructor(outcome: Outcome) {
    this.#outcome = outcome
  }

  /** Returns false for a retry of the exporter, because Lazaret decides about retries. */
  admits(request: ClientRequest): boolean {
    if (this.#request !== undefined) return false
    this.#request = request
    request.once('error', error => this.#outcome.failed(error))
    request.once('response', response => this.#read(response))
    return true
  }

  stop(reason: unknown): void {
    this.#request?.destroy(reason instanceof Error ? reason : new Error('stopped'))
  }

  #read(response: IncomingMessage): void {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk)
    })
    response.on('error', error => this.#outcome.failed(error))
    response.on('end', () => {
      const { statusCode: status = 0, headers } = response
      this.#outcome.answered({ status, headers, body: Buffer.concat(chunks) })
    })
  }
}

/** The export that a request belongs to is known by the async context it is made in. */
type ExportContext = AsyncLocalStorage<ExportRequest>

export function createExportContext(): ExportContext {
  return new AsyncLocalStorage()
}

/**
 * The method of an agent that takes requests. Node does not document it, but every proxy agent uses it, and all supported
 * versions have it, from 22.13 on.
 */
interface TakesRequests {
  addRequest(request: ClientRequest, ...rest: readonly unknown[]): void
}

/** A Node agent that gives each export one request and reports the request to its observer. */
export async function trackingAgent(
  protocol: string,
  options: OtlpAgentOptions,
  exports: ExportContext,
): Promise<Agent> {
  // Loaded late, as the exporter does, so that instrumentations of the modules come first.
  const { Agent } = await (protocol === 'https:' ? import('node:https') : import('node:http'))
  const agent = new Agent({ keepAlive: true, ...options })
  const taking = agent as unknown as TakesRequests
  const take = taking.addRequest.bind(agent)
  taking.addRequest = (request, ...rest) => {
    const exportRequest = exports.getStore()
    if (exportRequest === undefined || exportRequest.admits(request)) take(request, ...rest)
    // Never connected. Without a code the error is not one that the exporter would try again after.
    else queueMicrotask(() => request.emit('error', new Error('one request for one export')))
  }
  return agent
}
