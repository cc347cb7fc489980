import * as http from 'node:http'
import * as https from 'node:https'
import { parseRetryAfter } from '../../../core/failure/delay.ts'
import type { Clock } from '../../../ports/clock.ts'
import { SinkRefusedError, SinkUnreachableError } from '../errors.ts'
import { masking, secretsIn } from './secrets.ts'
import { addressOf, type Target } from './target.ts'

interface SenderOptions {
  /** Names the receiver in errors: 'loki', 'elasticsearch' … */
  readonly name: string
  readonly target: Target
  readonly headers: Readonly<Record<string, string>>
  /** The value of the Authorization header; without it, that of the URL's credentials. */
  readonly authorization?: string | undefined
  /** Beside those of the target. */
  readonly secrets?: readonly string[] | undefined
  /** The most bytes of an answer that are read. The rest is cut off. */
  readonly maxAnswerBytes?: number | undefined
  readonly agent?: http.Agent | undefined
  readonly clock: Clock
}

export interface Outgoing {
  readonly method: string
  /** Path and query; without it, those of the URL. */
  readonly path?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: Buffer | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** The text of the answer, as far as it is read. */
  readonly text: string
}

const DEFAULT_ANSWER_BYTES = 65_536

/**
 * Sends requests to one server over connections that are kept open. Node's own client: its fetch costs two to five
 * times as much for a request. Redirects are not followed.
 */
export class Sender {
  /** The name of the receiver in messages. */
  readonly subject: string
  readonly #options: SenderOptions
  readonly #agent: http.Agent
  readonly #headers: Readonly<Record<string, string>>
  readonly #masked: (said: string) => string
  readonly #path: string
  readonly #maxAnswerBytes: number

  constructor(options: SenderOptions) {
    const { name, target, headers, secrets = [], agent } = options
    const authorization = options.authorization ?? target.authorization
    this.#options = options
    this.subject = `${name} ${addressOf(target)}`
    this.#path = `${target.url.pathname}${target.url.search}`
    this.#headers = authorization === undefined ? headers : { ...headers, authorization }
    this.#masked = masking([...secrets, ...target.secrets, ...secretsIn(this.#headers)])
    this.#maxAnswerBytes = options.maxAnswerBytes ?? DEFAULT_ANSWER_BYTES
    this.#agent = agent ?? newAgent(target)
  }

  /** Resolves with whatever was answered. Rejects when nothing was, and with the signal's reason when it aborts. */
  async send(outgoing: Outgoing, signal: AbortSignal): Promise<Answer> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await this.#send(outgoing, signal)
      } catch (error) {
        signal.throwIfAborted()
        const isStale = error instanceof StaleConnectionError
        if (!isStale || !isFirst) throw new SinkUnreachableError(this.subject, isStale ? error.cause : error)
      }
    }
  }

  /** Sends a request, and throws for an unsuccessful answer. */
  async deliver(outgoing: Outgoing, signal: AbortSignal): Promise<Answer> {
    const answer = await this.send(outgoing, signal)
    if (answer.status < 200 || answer.status > 299) throw this.refusal(answer)
    return answer
  }

  refusal({ status, headers, text }: Answer): SinkRefusedError {
    const delayMs = parseRetryAfter(headers['retry-after'], this.#options.clock.now())
    return new SinkRefusedError({ subject: this.subject, status, said: this.#masked(text), delayMs })
  }

  /** Running requests end with an error. A caller that passed its own agent closes it. */
  close(): void {
    if (this.#options.agent === undefined) this.#agent.destroy()
  }

  #send({ method, path, headers, body }: Outgoing, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted()
    const { protocol, hostname, port } = this.#options.target.url
    const request = (protocol === 'https:' ? https : http).request({
      method,
      // The brackets of an IPv6 address belong to the URL.
      host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
      port,
      path: path ?? this.#path,
      headers: { ...this.#headers, ...headers, ...(body && { 'content-length': body.byteLength }) },
      agent: this.#agent,
    })
    return new Promise((resolve, reject) => {
      const stop = () => request.destroy(signal.reason instanceof Error ? signal.reason : undefined)
      const end = (settle: () => void) => {
        signal.removeEventListener('abort', stop)
        settle()
      }
      signal.addEventListener('abort', stop, { once: true })
      request.on('response', response => {
        this.#read(response).then(
          answer => end(() => resolve(answer)),
          error => end(() => reject(error)),
        )
      })
      request.on('error', error =>
        end(() =>
          reject(wasStale(request, error) ? new StaleConnectionError('stale', { cause: error }) : error),
        ),
      )
      request.end(body)
    })
  }

  #read(response: http.IncomingMessage): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const answer = () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      }
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength
        if (bytes <= this.#maxAnswerBytes) {
          chunks.push(chunk)
          return
        }
        // The answer may never end, and the part that was read is enough.
        response.destroy()
        answer()
      })
      response.on('end', answer)
      response.on('error', reject)
      response.on('close', () => reject(new Error('the response ended early')))
    })
  }
}

/** The server closed an idle connection while the request was being sent. That says nothing about the server. */
class StaleConnectionError extends Error {}

function wasStale(request: http.ClientRequest, error: Error): boolean {
  const { code } = error as { readonly code?: unknown }
  return request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')
}

function newAgent({ url }: Target): http.Agent {
  const options = { keepAlive: true, scheduling: 'lifo' } as const
  return url.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options)
}
