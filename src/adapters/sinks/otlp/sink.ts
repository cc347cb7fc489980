import type { Agent } from 'node:http'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { parseRetryAfter } from '../../../core/failure/delay.ts'
import { PermanentError, TransientError } from '../../../core/failure/signals.ts'
import type { BatchLimits, RejectedItem, Sink, WriteResult } from '../../../ports/sink.ts'
import { optionFunctionError, SinkRefusedError, SinkUnreachableError } from '../errors.ts'
import { masking, secretsIn } from '../sending/secrets.ts'
import { addressOf, targetOf } from '../sending/target.ts'
import { type OtlpLogExporter, type OtlpLogRecord, openExporter } from './exporter.ts'
import {
  DEFAULT_OTLP_BATCH_COUNT,
  type OtlpOptions,
  type OtlpSettings,
  resolveOtlpOptions,
} from './options.ts'
import { type PartialSuccess, readPartialSuccess } from './partial-success.ts'
import { type RecordSettings, recordOf, writableAttributes } from './records.ts'
import { type Answer, createExportContext, ExportRequest, trackingAgent } from './tracking-agent.ts'

/** Exports that wait to try again by themselves, and then may not, take up room for a while; that must not run out. */
const MAX_EXPORTS = 100_000
const SUCCESS = 0
const USUAL_PATH = /\/v1\/logs\/?$/

/** Sends events as log records to an OpenTelemetry collector, with the exporters of OpenTelemetry. */
export function otlp(options: OtlpOptions): Sink {
  return new OtlpSink(resolveOtlpOptions(options))
}

class OtlpSink implements Sink {
  readonly batch: BatchLimits = { maxCount: DEFAULT_OTLP_BATCH_COUNT }
  readonly #settings: OtlpSettings
  readonly #records: RecordSettings
  readonly #exports = createExportContext()
  /** The address without the path, because the path of some collectors contains a key. */
  readonly #subject: string
  readonly #masked: (said: string) => string
  #exporter: Promise<OtlpLogExporter> | undefined
  #agent: Agent | undefined

  constructor(settings: OtlpSettings) {
    const { resource, attributes, url, headers } = settings
    this.#settings = settings
    this.#records = {
      resource: { attributes: writableAttributes(resource) },
      scope: { name: 'lazaret' },
      attributes,
    }
    const target = targetOf(url)
    this.#subject = `OTLP ${addressOf(target)}`
    // A part before the usual path is a key.
    const key = target.url.pathname.replace(USUAL_PATH, '')
    this.#masked = masking([...target.secrets, key, ...secretsIn(headers)])
  }

  async write(
    batch: readonly LazaretEvent[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<WriteResult> {
    const { records, places, rejected } = this.#recordsOf(batch)
    if (records.length === 0) return { rejected }
    const partial = readPartialSuccess(this.#settings.format, (await this.#send(records, signal)).body)
    const sent = records.length
    if (partial.rejected > 0 || partial.message !== '') this.#settings.onPartialSuccess({ ...partial, sent })
    if (partial.rejected > 0 && this.#settings.partialSuccess === 'reject') {
      const error = this.#refusedInPart(partial, sent)
      rejected.push(...places.map(index => ({ index, error })))
    }
    return { rejected }
  }

  /** A request without records: the protocol has servers answer it with success. */
  async probe({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.#send([], signal)
  }

  async close(): Promise<void> {
    const exporter = await this.#exporter?.catch(() => undefined)
    this.#exporter = undefined
    this.#agent?.destroy()
    // This is not awaited, because it would wait for retries of exports that were settled long ago.
    exporter?.shutdown().catch(() => {})
  }

  /** The records, of which places in the batch, and the events that none could be made of. */
  #recordsOf(batch: readonly LazaretEvent[]): {
    readonly records: OtlpLogRecord[]
    readonly places: number[]
    readonly rejected: RejectedItem[]
  } {
    const now = this.#settings.clock.now()
    const made = { records: [] as OtlpLogRecord[], places: [] as number[], rejected: [] as RejectedItem[] }
    for (const [index, event] of batch.entries()) {
      try {
        made.records.push(recordOf(event, this.#records, now))
        made.places.push(index)
      } catch (error) {
        made.rejected.push({ index, error: optionFunctionError(this.#subject, error) })
      }
    }
    return made
  }

  /** Resolves with a success, and rejects with what another answer means. */
  async #send(records: readonly OtlpLogRecord[], signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted()
    const exporter = await this.#opened()
    signal.throwIfAborted()
    const answer = await this.#export(exporter, records, signal)
    const { status, headers, body } = answer
    if (status >= 200 && status < 300) return answer
    throw new SinkRefusedError({
      subject: this.#subject,
      status,
      said: this.#masked(readable(body)),
      delayMs: parseRetryAfter(headers['retry-after'], this.#settings.clock.now()),
    })
  }

  #export(
    exporter: OtlpLogExporter,
    records: readonly OtlpLogRecord[],
    signal: AbortSignal,
  ): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const exportRequest = new ExportRequest({
        answered: answer => {
          signal.removeEventListener('abort', stop)
          resolve(answer)
        },
        failed: error => {
          signal.removeEventListener('abort', stop)
          reject(signal.aborted ? signal.reason : new SinkUnreachableError(this.#subject, error))
        },
      })
      const stop = () => {
        exportRequest.stop(signal.reason)
        reject(signal.reason)
      }
      signal.addEventListener('abort', stop, { once: true })
      this.#exports.run(exportRequest, () =>
        exporter.export(records, ({ code, error }) => {
          // Had there been a request, its answer or error would have settled this by now.
          if (code !== SUCCESS) reject(this.#notSent(error))
        }),
      )
    })
  }

  #opened(): Promise<OtlpLogExporter> {
    this.#exporter ??= this.#open().catch(error => {
      this.#exporter = undefined
      throw error
    })
    return this.#exporter
  }

  async #open(): Promise<OtlpLogExporter> {
    const { format, url, headers, compression, timeoutMs, agent } = this.#settings
    return await openExporter(format, {
      url,
      headers: { ...headers },
      compression,
      timeoutMillis: timeoutMs,
      concurrencyLimit: MAX_EXPORTS,
      httpAgentOptions: async protocol => {
        this.#agent = await trackingAgent(protocol, agent, this.#exports)
        return this.#agent
      },
    })
  }

  #notSent(cause: Error | undefined): TransientError {
    return new TransientError(
      `${this.#subject}: the exporter sent nothing: ${cause?.message ?? 'no reason given'}; check the options of the sink`,
      {
        cause,
      },
    )
  }

  /** The protocol forbids to send such a batch again, and does not say which of its records are missing. */
  #refusedInPart({ rejected, message }: PartialSuccess, sent: number): PermanentError {
    const said = this.#masked(message)
    const why = said === '' ? '' : `: ${said.slice(0, 200).toWellFormed()}`
    return new PermanentError(
      `${this.#subject}: rejected ${rejected} of ${sent} records${why}; it does not say which, so a replay may store duplicates`,
      { category: 'schema', fingerprint: `otlp-partial-success:${said.slice(0, 100)}` },
    )
  }
}

/** Errors may come as a protobuf Status, whose message can be read amid a few bytes that cannot. */
function readable(body: Buffer): string {
  return body.toString('utf8').replace(/[\p{Cc}\ufffd]+/gu, ' ')
}
