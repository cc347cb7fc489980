import { classificationOfStatus } from '../../../core/failure/tables/http-status.ts'
import type { Sink } from '../../../ports/sink.ts'
import { sendingSink } from '../sending/delivery.ts'
import { gzipped } from '../sending/gzip.ts'
import { Sender } from '../sending/sender.ts'
import { bodyOf, contentTypeOf, formatterOf, pieceOf, requestId, type TextPiece } from './body.ts'
import {
  type HttpSettings,
  type HttpSinkOptions,
  resolveHttp,
  resolveWebhook,
  type WebhookOptions,
} from './options.ts'
import { signatureHeaders } from './signature.ts'

/** 413 says that the request is too large, so each half of the batch may fit. Other statuses do not depend on its size. */
const HALVE_AT: ReadonlySet<number> = new Set([413])

/** Posts events as JSON, a batch in a request. */
export function http(options: HttpSinkOptions): Sink {
  return httpSink('http', resolveHttp(options))
}

/** Posts each event in its own request, signed as in Standard Webhooks. */
export function webhook(options: WebhookOptions): Sink {
  return httpSink('webhook', resolveWebhook(options))
}

function httpSink(name: string, settings: HttpSettings): Sink {
  const { url: target, token, headers, agent, clock, request, maxRequestEvents, maxRequestBytes } = settings
  const sender = new Sender({
    name,
    target,
    headers: { ...headers, 'content-type': contentTypeOf(settings.format, request) },
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    secrets: [target.url.pathname],
    agent,
    clock,
  })
  const format = formatterOf(settings.format)
  return sendingSink(sender, {
    shape: { maxCount: request === 'each' ? 1 : maxRequestEvents, maxBytes: maxRequestBytes },
    pieceOf: (event, index) => pieceOf(event, index, format),
    send: (pieces: readonly TextPiece[], signal) => post(sender, settings, pieces, signal),
    halveAt: HALVE_AT,
    concurrency: settings.concurrency,
    probe: settings.probe !== false && (signal => probe(sender, settings, signal)),
  })
}

async function post(
  sender: Sender,
  { method, request, secret, gzip, clock }: HttpSettings,
  pieces: readonly TextPiece[],
  signal: AbortSignal,
): Promise<void> {
  const body = bodyOf(pieces, request)
  const headers = secret.length === 0 ? {} : signatureHeaders(secret, requestId(pieces), clock.now(), body)
  await sender.deliver(await gzipped({ method, headers, body }, gzip), signal)
}

/** Few receivers support HEAD, and a refusal also shows that the receiver runs. */
async function probe(sender: Sender, { probe: path }: HttpSettings, signal: AbortSignal): Promise<void> {
  const answer = await sender.send({ method: 'HEAD', ...(path && { path }) }, signal)
  if (answer.status >= 400 && classificationOfStatus(answer.status).retryable) throw sender.refusal(answer)
}
