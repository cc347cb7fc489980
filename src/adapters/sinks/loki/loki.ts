import type { Sink } from '../../../ports/sink.ts'
import { sendingSink } from '../sending/delivery.ts'
import { gzipped } from '../sending/gzip.ts'
import { Sender } from '../sending/sender.ts'
import { type Entry, type EntryMaker, entryOf, pushBody } from './entries.ts'
import { Labels } from './labels.ts'
import { type LokiOptions, type LokiSettings, resolveLoki } from './options.ts'

/**
 * Loki answers 400 when it refuses any of the entries, and still stores the others. Sending the halves again finds the
 * refused ones without parsing the error text, and Loki drops repeated entries: same time, same line.
 */
const HALVE_AT: ReadonlySet<number> = new Set([400, 413])

/** Pushes events to Loki, each as a line of the stream that its labels make. */
export function loki(options: LokiOptions): Sink {
  const settings = resolveLoki(options)
  const { url: target, token, tenant, headers, agent, clock } = settings
  const sender = new Sender({
    name: 'loki',
    target,
    headers: {
      ...headers,
      'content-type': 'application/json',
      ...(tenant !== undefined && { 'x-scope-orgid': tenant }),
    },
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    agent,
    clock,
  })
  const base = target.url.pathname.replace(/\/$/, '')
  const path = `${base}/loki/api/v1/push`
  const maker: EntryMaker = {
    ...settings,
    labels: new Labels(withAnyLabel(settings)),
    subject: sender.subject,
  }
  const { probe } = settings
  return sendingSink(sender, {
    shape: { maxCount: settings.maxPushEvents, maxBytes: settings.maxPushBytes },
    pieceOf: (event, index) => entryOf(event, index, maker),
    async send(entries: readonly Entry[], signal) {
      const outgoing = { method: 'POST', path, body: pushBody(entries) }
      await sender.deliver(await gzipped(outgoing, settings.gzip), signal)
    },
    halveAt: HALVE_AT,
    probe:
      typeof probe === 'string' &&
      (async signal => {
        await sender.deliver({ method: 'GET', path: `${base}${probe}` }, signal)
      }),
  })
}

/** Loki wants at least one label. Those of an event may all be empty, so then there is one that is not. */
function withAnyLabel(settings: LokiSettings): LokiSettings {
  const isSure = Object.keys(settings.labels).length > 0 || settings.labelFields.includes('channel')
  return isSure ? settings : { ...settings, labels: { source: 'lazaret' } }
}
