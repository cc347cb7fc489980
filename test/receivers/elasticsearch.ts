import { json, type Received, type Receiver, type Reply, startReceiver } from './receiver.ts'

export interface ElasticsearchReceiverOptions {
  /** The whole Authorization header that is asked for. */
  readonly authorization?: string | undefined
  /** Names that are data streams: only `create`, and only with @timestamp. */
  readonly dataStreams?: readonly string[] | undefined
  /** Top-level or dotted fields that are numbers: anything else there is a mapping error. */
  readonly numbers?: readonly string[] | undefined
  /** `action.auto_create_index: false`: only these exist. */
  readonly indices?: readonly string[] | undefined
  /** http.max_content_length. */
  readonly maxBodyBytes?: number | undefined
}

type Document = Readonly<Record<string, unknown>>

export interface ElasticsearchReceiver extends Receiver {
  /** By index and id. */
  readonly documents: ReadonlyMap<string, ReadonlyMap<string, Document>>
  /** Documents in the order they were created. */
  readonly created: readonly Document[]
  /** Answers for the items with these ids so, instead of working on them. */
  failItems(ids: readonly string[], status: number, type: string): void
}

const ACTIONS = new Set(['create', 'index'])
const NO_INDEX_NAME = /[\\/*?"<>| ,#A-Z]|^[-_+]|^\.\.?$/

/** POST /_bulk and HEAD /. Written from the bulk API's reference of Elasticsearch 8 and OpenSearch 2. */
export async function elasticsearchReceiver(
  options: ElasticsearchReceiverOptions = {},
): Promise<ElasticsearchReceiver> {
  const store = new Store(options)
  const receiver = await startReceiver(request => store.answer(request))
  return Object.assign(receiver, {
    documents: store.documents,
    created: store.created,
    failItems(ids: readonly string[], status: number, type: string) {
      store.failing = { ids: new Set(ids), status, type }
    },
  })
}

interface Item {
  readonly status: number
  readonly error?: { readonly type: string; readonly reason: string } | undefined
}

class Store {
  readonly documents = new Map<string, Map<string, Document>>()
  readonly created: Document[] = []
  failing: { readonly ids: ReadonlySet<string>; readonly status: number; readonly type: string } | undefined
  readonly #options: ElasticsearchReceiverOptions

  constructor(options: ElasticsearchReceiverOptions) {
    this.#options = options
  }

  answer(request: Received): Reply {
    const { method, url, headers, body } = request
    const { authorization, maxBodyBytes = 104_857_600 } = this.#options
    if (headers.authorization !== authorization)
      return fault(401, 'security_exception', 'unable to authenticate')
    if (url === '/' && (method === 'HEAD' || method === 'GET')) return { status: 200 }
    const { pathname, searchParams } = new URL(url, 'http://es')
    if (pathname !== '/_bulk') return fault(404, 'index_not_found_exception', pathname)
    if (method !== 'POST' && method !== 'PUT') return fault(405, 'method_not_allowed', method)
    const type = headers['content-type']
    if (type !== 'application/x-ndjson' && type !== 'application/json')
      return fault(406, 'media_type_header_exception', `Content-Type header [${type}] is not supported`)
    if (body.byteLength > maxBodyBytes) return { status: 413 }
    try {
      return json(200, filtered(this.#bulk(body.toString('utf8')), searchParams.get('filter_path')))
    } catch (error) {
      return fault(400, 'illegal_argument_exception', (error as Error).message)
    }
  }

  #bulk(text: string): { readonly errors: boolean; readonly took: number; readonly items: object[] } {
    if (!text.endsWith('\n')) throw new Error('The bulk request must be terminated by a newline [\\n]')
    const lines = text.slice(0, -1).split('\n')
    const items: object[] = []
    let errors = false
    for (let at = 0; at < lines.length; at += 2) {
      const [name, meta] = actionOf(lines[at]!, at + 1)
      const source = lines[at + 1]
      if (source === undefined) throw new Error('The bulk request must have a source line for each action')
      const { _index: index, _id: id } = meta
      const item = this.#item(name, String(index), String(id), source)
      if (item.error !== undefined) errors = true
      items.push({ [name]: { _index: index, _id: id, ...item } })
    }
    return { errors, took: 1, items }
  }

  #item(action: string, index: string, id: string, source: string): Item {
    const { dataStreams = [], indices } = this.#options
    if (this.failing?.ids.has(id)) return failure(this.failing.status, this.failing.type, 'as told')
    if (NO_INDEX_NAME.test(index) || Buffer.byteLength(index) > 255)
      return failure(400, 'invalid_index_name_exception', `Invalid index name [${index}]`)
    if (indices !== undefined && !indices.includes(index) && !dataStreams.includes(index))
      return failure(404, 'index_not_found_exception', `no such index [${index}]`)
    if (Buffer.byteLength(id) > 512) return failure(400, 'illegal_argument_exception', 'id is too long')
    const document = parsed(source)
    if (document === undefined) return failure(400, 'document_parsing_exception', 'failed to parse')
    if (dataStreams.includes(index)) {
      if (action !== 'create')
        return failure(400, 'illegal_argument_exception', 'only op_type of create is allowed in data streams')
      if (Number.isNaN(Date.parse(String(document['@timestamp']))))
        return failure(
          400,
          'document_parsing_exception',
          'data stream timestamp field [@timestamp] is missing',
        )
    }
    const wrong = this.#options.numbers?.find(field => typeof (valueAt(document, field) ?? 0) !== 'number')
    if (wrong !== undefined)
      return failure(400, 'document_parsing_exception', `failed to parse field [${wrong}] of type [long]`)
    return this.#create(action, index, id, document)
  }

  #create(action: string, index: string, id: string, document: Document): Item {
    const documents = this.documents.get(index) ?? new Map<string, Document>()
    if (action === 'create' && documents.has(id))
      return failure(409, 'version_conflict_engine_exception', `[${id}]: document already exists`)
    this.documents.set(index, documents.set(id, document))
    this.created.push(document)
    return { status: 201 }
  }
}

function actionOf(line: string, number: number): [name: string, meta: Record<string, unknown>] {
  const action = parsed(line)
  const [entry, ...rest] = Object.entries(action ?? {})
  if (entry === undefined || rest.length > 0 || !ACTIONS.has(entry[0]))
    throw new Error(`Malformed action/metadata line [${number}], expected one of [create, index]`)
  const meta = entry[1] as Record<string, unknown>
  if (typeof meta['_index'] !== 'string') throw new Error(`line [${number}]: _index is missing`)
  if ('_id' in meta && typeof meta['_id'] !== 'string') throw new Error(`line [${number}]: _id is no text`)
  return [entry[0], meta]
}

function parsed(line: string): Document | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Document)
      : undefined
  } catch {
    return undefined
  }
}

function valueAt(document: Document, field: string): unknown {
  return field.split('.').reduce<unknown>((value, name) => (value as Document | undefined)?.[name], document)
}

/** Only the filters that clients of bulk use. */
function filtered(answer: ReturnType<Store['answer']> | object, filters: string | null): object {
  if (filters === null) return answer
  const kept = filters.split(',')
  const { errors, took, items } = answer as { errors: boolean; took: number; items: Record<string, Item>[] }
  const keep = (field: string) => kept.includes('items') || kept.includes(`items.*.${field}`)
  return {
    ...(kept.includes('errors') && { errors }),
    ...(kept.includes('took') && { took }),
    items: items
      .map(item => {
        const [[name, fields]] = Object.entries(item) as [[string, object]]
        return { [name]: Object.fromEntries(Object.entries(fields).filter(([field]) => keep(field))) }
      })
      .filter(item => Object.keys(Object.values(item)[0]!).length > 0),
  }
}

function failure(status: number, type: string, reason: string): Item {
  return { status, error: { type, reason } }
}

function fault(status: number, type: string, reason: string): Reply {
  return json(status, { error: { type, reason, root_cause: [{ type, reason }] }, status })
}
