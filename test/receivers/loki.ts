import { systemClock } from '../../src/ports/clock.ts'
import { type Received, type Receiver, type Reply, startReceiver } from './receiver.ts'

export interface LokiReceiverOptions {
  /** Asks for X-Scope-OrgID, as with `auth_enabled: true`. */
  readonly isMultiTenant?: boolean | undefined
  /** Refuses entries older than the newest of their stream, as with `unordered_writes: false` [true: stricter]. */
  readonly isOrdered?: boolean | undefined
  readonly allowStructuredMetadata?: boolean | undefined
  readonly maxBodyBytes?: number | undefined
  readonly maxLineBytes?: number | undefined
  readonly now?: (() => number) | undefined
}

export interface LokiEntry {
  readonly tenant: string
  readonly labels: Readonly<Record<string, string>>
  readonly ns: bigint
  readonly line: string
  readonly metadata: Readonly<Record<string, string>>
}

export interface LokiReceiver extends Receiver {
  /** What is stored, in the order of arrival; the same line at the same time in the same stream only once. */
  readonly entries: readonly LokiEntry[]
  /** The newest time of each stream. */
  readonly streams: ReadonlyMap<string, bigint>
  /** From now on refuses entries whose line contains one of these, and stores the others. */
  refuse(texts: readonly string[]): void
}

const DAY_NS = 86_400_000_000_000n
const MS_NS = 1_000_000n
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const MOST_LABELS = 15
const MOST_NAME_BYTES = 1_024
const MOST_VALUE_BYTES = 2_048
const MOST_METADATA_BYTES = 65_536
const MOST_METADATA = 128

/** POST /loki/api/v1/push in JSON, and GET /ready. Written from the HTTP API's reference and the default limits of Loki 3. */
export async function lokiReceiver(options: LokiReceiverOptions = {}): Promise<LokiReceiver> {
  const store = new Store(options)
  const receiver = await startReceiver(request => store.answer(request))
  return Object.assign(receiver, {
    entries: store.entries,
    streams: store.newest,
    refuse(texts: readonly string[]) {
      store.refused = texts
    },
  })
}

class Store {
  readonly entries: LokiEntry[] = []
  readonly newest = new Map<string, bigint>()
  refused: readonly string[] = []
  readonly #seen = new Set<string>()
  readonly #options: LokiReceiverOptions

  constructor(options: LokiReceiverOptions) {
    this.#options = options
  }

  answer({ method, url, headers, body }: Received): Reply {
    if (method === 'GET' && url === '/ready') return { status: 200, body: 'ready\n' }
    if (url !== '/loki/api/v1/push') return { status: 404, body: '404 page not found' }
    if (method !== 'POST') return { status: 405 }
    const { isMultiTenant = false, maxBodyBytes = 4_194_304 } = this.#options
    const tenant = headers['x-scope-orgid']
    if (isMultiTenant && (typeof tenant !== 'string' || !/^[\w!.*'()-]{1,150}$/.test(tenant)))
      return { status: 401, body: 'no org id' }
    if (headers['content-type'] !== 'application/json') return bad('expected application/json')
    if (body.byteLength > maxBodyBytes)
      return {
        status: 413,
        body: `request body too large: ${body.byteLength} bytes, limit: ${maxBodyBytes} bytes`,
      }
    try {
      return this.#push(JSON.parse(body.toString('utf8')), isMultiTenant ? String(tenant) : 'fake')
    } catch (error) {
      return bad((error as Error).message)
    }
  }

  /** Loki stores the valid entries even when it answers with a refusal of the others. */
  #push(request: unknown, tenant: string): Reply {
    const { streams } = asObject(request, ['streams'])
    if (!Array.isArray(streams)) throw new Error('streams is no array')
    let fault: string | undefined
    for (const stream of streams) {
      const { stream: labels, values } = asObject(stream, ['stream', 'values'])
      if (!Array.isArray(values)) throw new Error('values is no array')
      const label = labelFault(labels)
      if (label !== undefined) fault = label
      else
        for (const value of values)
          fault = this.#add(tenant, labels as Record<string, string>, value) ?? fault
    }
    return fault === undefined ? { status: 204 } : bad(fault)
  }

  #add(tenant: string, labels: Record<string, string>, value: unknown): string | undefined {
    const entry = entryOf(tenant, labels, value)
    const stream = `${tenant}{${Object.keys(labels)
      .sort()
      .map(name => `${name}=${JSON.stringify(labels[name])}`)
      .join(',')}}`
    const fault = this.#faultOf(entry, stream)
    if (fault !== undefined) return `entry for stream '${stream}' ${fault}`
    const mark = `${stream}\n${entry.ns}\n${entry.line}`
    if (this.#seen.has(mark)) return undefined
    this.#seen.add(mark)
    this.entries.push(entry)
    const newest = this.newest.get(stream)
    if (newest === undefined || newest < entry.ns) this.newest.set(stream, entry.ns)
    return undefined
  }

  #faultOf({ ns, line, metadata }: LokiEntry, stream: string): string | undefined {
    const {
      now = systemClock.now,
      maxLineBytes = 262_144,
      isOrdered = true,
      allowStructuredMetadata = true,
    } = this.#options
    const nowNs = BigInt(now()) * MS_NS
    if (ns < nowNs - 7n * DAY_NS) return 'has timestamp too old'
    if (ns > nowNs + 600_000n * MS_NS) return 'has timestamp too new'
    if (Buffer.byteLength(line) > maxLineBytes) return `has a line longer than ${maxLineBytes} bytes`
    const names = Object.keys(metadata)
    if (names.length > 0 && !allowStructuredMetadata)
      return 'includes structured metadata, but this is disallowed'
    if (names.length > MOST_METADATA) return 'has too many structured metadata labels'
    const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name + metadata[name]), 0)
    if (bytes > MOST_METADATA_BYTES) return 'has structured metadata too large'
    if (this.refused.some(text => line.includes(text))) return 'was refused as told'
    const isKnown = this.#seen.has(`${stream}\n${ns}\n${line}`)
    if (isOrdered && !isKnown && ns < (this.newest.get(stream) ?? 0n)) return 'out of order'
    return undefined
  }
}

function entryOf(tenant: string, labels: Record<string, string>, value: unknown): LokiEntry {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) throw new Error('a value is no pair')
  const [ns, line, metadata = {}] = value as unknown[]
  if (typeof ns !== 'string' || !/^\d{1,19}$/.test(ns))
    throw new Error('a timestamp is no text of nanoseconds')
  if (typeof line !== 'string') throw new Error('a line is no text')
  for (const [name, text] of Object.entries(metadata as object))
    if (typeof text !== 'string' || name === '') throw new Error('structured metadata is not text by name')
  return { tenant, labels, ns: BigInt(ns), line, metadata: metadata as Record<string, string> }
}

function labelFault(labels: unknown): string | undefined {
  const entries = Object.entries(asObject(labels))
  if (entries.length === 0) return 'error at least one label pair is required per stream'
  if (entries.length > MOST_LABELS) return `has ${entries.length} label names; limit ${MOST_LABELS}`
  for (const [name, value] of entries) {
    if (typeof value !== 'string') throw new Error(`label ${name} is no text`)
    if (!LABEL_NAME.test(name) || name.startsWith('__')) return `Error parsing labels: ${name}`
    if (Buffer.byteLength(name) > MOST_NAME_BYTES) return `has label name too long: ${name}`
    if (Buffer.byteLength(value) > MOST_VALUE_BYTES) return `has label value too long: ${name}`
    if (value === '') return `has an empty label: ${name}`
  }
  return undefined
}

function asObject(value: unknown, only?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('expected an object')
  const strange = only && Object.keys(value).find(name => !only.includes(name))
  if (strange !== undefined) throw new Error(`unexpected field ${strange}`)
  return value as Record<string, unknown>
}

function bad(body: string): Reply {
  return { status: 400, body }
}
