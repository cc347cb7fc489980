import { AsyncLocalStorage } from 'node:async_hooks'
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { OtlpAgentOptions } from './exporter.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** What one export comes to. */
interface Outcome {
  answered(answer: Answer): void
  /** There was no answer, or not the whole of it. */
  failed(error: Error): void
}

/** A larger answer is not an answer to an export; its beginning says enough. */
const MAX_BODY_BYTES = 65_536

/**
 * One export as the connection sees it. The exporter tells neither status nor Retry-After nor what was refused, takes
 * no signal, and tries again by itself; all of that is here: the first request is watched, and there is no second.
 */
export class ExportRequest {
  readonly #outcome: Outcome
  #request: ClientRequest | undefined

  constructor(outcome: Outcome) {
    this.#outcome = outcome
  }

  /** False for a request that the exporter makes to try again: that is decided elsewhere. */
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
 * Where an agent takes requests. Not in the documentation of Node, but what every agent for proxies builds upon: it is there
 * in all versions that we run on, from 22.13.
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
