import type { LazaretEvent } from '../../../core/event/event.ts'
import { PermanentError } from '../../../core/failure/signals.ts'
import { untilAborted } from '../../../ports/clock.ts'
import type { BatchLimits, RejectedItem, Sink, WriteResult } from '../../../ports/sink.ts'
import { optionFunctionError } from '../errors.ts'
import { severityOf } from '../severity.ts'
import { Breadcrumbs } from './breadcrumbs.ts'
import { Deliveries } from './deliveries.ts'
import { type SentryEvent, sentryEvent } from './event.ts'
import { LOGS_PER_ENVELOPE, logEnvelope } from './logs.ts'
import { resolveSentryOptions, type SentryOptions, type SentrySettings } from './options.ts'
import { deliveryError, limited } from './outcome.ts'
import { type CancellableClient, callersClient, openOwnClient } from './own-client.ts'
import { RateLimits, type SentryQuota } from './rate-limits.ts'
import { loadSdk, type SentryEnvelope, type SentryResponse, type SentrySdk } from './sdk.ts'

const CLOSE_WITHIN_MS = 1_000

/** Errors as events of Sentry, the rest as breadcrumbs or logs, through the SDK of Sentry. */
export function sentry(options: SentryOptions): Sink {
  return new SentrySink(resolveSentryOptions(options))
}

interface Opened extends CancellableClient {
  readonly sdk: SentrySdk
  readonly deliveries: Deliveries
}

/** An event of the batch that is to be captured, with its place. */
interface Capture {
  readonly index: number
  readonly event: LazaretEvent
  readonly breadcrumbs: readonly object[]
}

class SentrySink implements Sink {
  readonly batch: BatchLimits = { maxCount: LOGS_PER_ENVELOPE }
  readonly #settings: SentrySettings
  readonly #subject: string
  readonly #limits: RateLimits
  readonly #breadcrumbs: Breadcrumbs
  #opening: Promise<Opened> | undefined

  constructor(settings: SentrySettings) {
    this.#settings = settings
    this.#subject = subjectOf(settings.dsn)
    this.#limits = new RateLimits(settings.clock)
    this.#breadcrumbs = new Breadcrumbs(settings.maxBreadcrumbs)
  }

  async write(
    batch: readonly LazaretEvent[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<WriteResult> {
    signal.throwIfAborted()
    const opened = await this.#opened()
    const { captures, logs } = this.#sorted(batch)
    const rejected = [
      ...(await this.#sendLogs(opened, logs, signal)),
      ...(await this.#captureAll(opened, captures, signal)),
    ]
    const sent = captures.length + logs.length
    // Breadcrumbs are always taken. If no request arrived, they must not make a failing Sentry look healthy.
    if (sent > 0 && rejected.length === sent && rejected.every(({ error }) => isRetryable(error)))
      throw rejected[0]!.error
    return { rejected }
  }

  /** A report that nothing was discarded: the smallest thing that Sentry answers to and keeps nothing of. */
  async probe({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted()
    const opened = await this.#opened()
    const timestamp = this.#settings.clock.now() / 1_000
    const report = [{ type: 'client_report' }, { timestamp, discarded_events: [] }] as const
    const error = await this.#sendEnvelope(opened, [{}, [report]], 'error', signal)
    if (error !== undefined) throw error
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    if (opened === undefined) return
    opened.deliveries.close()
    if (this.#settings.client === undefined) await opened.client.close(CLOSE_WITHIN_MS)
  }

  /** Keeps the order of the batch, because an event shows the breadcrumbs before it. */
  #sorted(batch: readonly LazaretEvent[]): { readonly captures: Capture[]; readonly logs: Capture[] } {
    const { capture, others, payload } = this.#settings
    const captures: Capture[] = []
    const logs: Capture[] = []
    for (const [index, event] of batch.entries()) {
      if (capture.includes(severityOf(event)))
        captures.push({ index, event, breadcrumbs: this.#breadcrumbs.list })
      else if (others === 'breadcrumbs') this.#breadcrumbs.add(event, payload)
      else if (others === 'logs') logs.push({ index, event, breadcrumbs: [] })
    }
    return { captures, logs }
  }

  /** Sentry accepts one event for each request, so several requests run at once. */
  async #captureAll(
    opened: Opened,
    captures: readonly Capture[],
    signal: AbortSignal,
  ): Promise<RejectedItem[]> {
    const rejected: RejectedItem[] = []
    let next = 0
    // An error that occurs before the event is read concerns the other events too.
    let all: Error | undefined
    const work = async () => {
      while (next < captures.length) {
        const capture = captures[next++]!
        const error = all ?? (await this.#capture(opened, capture, signal))
        if (error === undefined) continue
        rejected.push({ index: capture.index, error })
        if (isRetryable(error)) all ??= error
      }
    }
    const { concurrency } = this.#settings
    await Promise.all(Array.from({ length: Math.min(concurrency, captures.length) }, work))
    return rejected
  }

  async #capture(opened: Opened, capture: Capture, signal: AbortSignal): Promise<Error | undefined> {
    signal.throwIfAborted()
    const waitMs = this.#limits.waitMs('error')
    if (waitMs !== undefined) return limited(this.#subject, waitMs)
    const { deliveries, sdk, client } = opened
    let event: SentryEvent
    try {
      const { stackParser } = client.getOptions()
      event = sentryEvent(capture.event, capture.breadcrumbs, this.#settings, sdk, stackParser)
    } catch (error) {
      return optionFunctionError(this.#subject, error)
    }
    try {
      const delivery = await untilAborted(deliveries.capture(event), signal)
      if (delivery.kind === 'answered') this.#limits.note(delivery.response)
      return deliveryError(this.#subject, delivery, this.#limits.waitMs('error'))
    } catch (error) {
      deliveries.forget(event.event_id)
      opened.stop(event.event_id)
      throw error
    }
  }

  async #sendLogs(opened: Opened, logs: readonly Capture[], signal: AbortSignal): Promise<RejectedItem[]> {
    const rejected: RejectedItem[] = []
    for (let at = 0; at < logs.length; at += LOGS_PER_ENVELOPE) {
      const part = logs.slice(at, at + LOGS_PER_ENVELOPE)
      const envelope = logEnvelope(
        part.map(({ event }) => event),
        this.#settings.payload,
      )
      const error = await this.#sendEnvelope(opened, envelope, 'log_item', signal)
      if (error !== undefined) rejected.push(...part.map(({ index }) => ({ index, error })))
    }
    return rejected
  }

  async #sendEnvelope(
    opened: Opened,
    envelope: SentryEnvelope,
    quota: SentryQuota,
    signal: AbortSignal,
  ): Promise<Error | undefined> {
    const waitMs = this.#limits.waitMs(quota)
    if (waitMs !== undefined) return limited(this.#subject, waitMs)
    let response: SentryResponse
    try {
      response = await untilAborted(opened.client.sendEnvelope(envelope), signal)
    } catch (error) {
      opened.stop(envelope)
      throw error
    }
    this.#limits.note(response)
    return deliveryError(this.#subject, { kind: 'answered', response }, this.#limits.waitMs(quota))
  }

  #opened(): Promise<Opened> {
    this.#opening ??= this.#open().catch(error => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #open(): Promise<Opened> {
    const { dsn, client, release, environment } = this.#settings
    const sdk = await loadSdk()
    const watched =
      client === undefined
        ? await openOwnClient(sdk, { dsn: dsn!, release, environment })
        : callersClient(client)
    if (watched.client.getTransport() === undefined)
      throw new PermanentError(`${this.#subject}: the client has no DSN and sends nothing; set its DSN`, {
        category: 'integration',
      })
    return { ...watched, sdk, deliveries: new Deliveries(watched.client) }
  }
}

function isRetryable(error: unknown): boolean {
  return (error as { readonly retryable?: unknown }).retryable === true
}

/** The project, without the key. */
function subjectOf(dsn: string | undefined): string {
  if (dsn === undefined) return 'Sentry'
  const { host, pathname } = new URL(dsn)
  return `Sentry ${host}${pathname}`
}
