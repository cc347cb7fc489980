import { Faults } from '../../../core/options/faults.ts'
import type { Sink } from '../../../ports/sink.ts'
import { SinkUnreachableError } from '../errors.ts'
import { sendingSink } from '../sending/delivery.ts'
import { gzipped } from '../sending/gzip.ts'
import { type Answer, Sender } from '../sending/sender.ts'
import { ANSWER_FIELDS, type BulkPiece, bulkBody, eventDocuments, pieceOf, refusedItems } from './bulk.ts'
import { indexRule } from './index-name.ts'
import {
  DEFAULT_INDEX,
  type ElasticsearchOptions,
  type ElasticsearchSettings,
  resolveElasticsearch,
} from './options.ts'

/** About 100 bytes an item that was taken, and 1000 for one that was not. */
const ANSWER_BYTES_EACH = 2_048
const ANSWER_BYTES_LEAST = 65_536
/** http.max_content_length, or a proxy in front of it. */
const HALVE_AT: ReadonlySet<number> = new Set([413])

/** Writes events with the bulk API of Elasticsearch or OpenSearch. Only the items that failed are tried again. */
export function elasticsearch(options: ElasticsearchOptions): Sink {
  const settings = resolveElasticsearch(options)
  const { url: target, maxBulkEvents, maxBulkBytes, document = eventDocuments(), probe, gzip } = settings
  const base = target.url.pathname.replace(/\/$/, '')
  const path = `${base}/_bulk?filter_path=${encodeURIComponent(ANSWER_FIELDS)}`
  const sender = senderOf(settings)
  const indexOf =
    settings.dataStream ?? settings.index ?? indexRule.read(DEFAULT_INDEX, 'index', new Faults())
  return sendingSink(sender, {
    shape: { maxCount: maxBulkEvents, maxBytes: maxBulkBytes },
    pieceOf: (event, index) => pieceOf(event, index, indexOf, document),
    async send(pieces: readonly BulkPiece[], signal) {
      const outgoing = { method: 'POST', path, body: bulkBody(pieces) }
      const { text } = await sender.deliver(await gzipped(outgoing, gzip), signal)
      const refused = refusedItems(text, pieces, sender.subject)
      if (refused !== undefined) return refused
      // Whether it was taken cannot be told. A second sending can tell, and does no harm.
      throw new SinkUnreachableError(
        sender.subject,
        new Error('the answer is not an answer to a bulk request'),
      )
    },
    halveAt: HALVE_AT,
    probe:
      typeof probe === 'string' &&
      (async signal => {
        const answer = await sender.send({ method: 'HEAD', path: `${base}${probe}` }, signal)
        if (!isAlive(answer)) throw sender.refusal(answer)
      }),
  })
}

/** A write-only key, as ours should be, may not read this path. The refusal still shows that the server runs. */
function isAlive({ status }: Answer): boolean {
  return status === 403 || (status >= 200 && status <= 299)
}

function senderOf(settings: ElasticsearchSettings): Sender {
  const { url: target, apiKey, token, headers, agent, clock, maxBulkEvents } = settings
  const bearer = token === undefined ? undefined : `Bearer ${token}`
  return new Sender({
    name: 'elasticsearch',
    target,
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
    authorization: apiKey === undefined ? bearer : `ApiKey ${apiKey}`,
    maxAnswerBytes: Math.max(ANSWER_BYTES_LEAST, maxBulkEvents * ANSWER_BYTES_EACH),
    agent,
    clock,
  })
}
