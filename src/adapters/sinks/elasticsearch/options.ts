import { type Relations, type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { flag, integer, optional, synchronous, withDefault } from '../../../core/options/rules.ts'
import { type HttpServerOptions, httpUrl, probeRule, secretText, serverRules } from '../sending/target.ts'
import type { ElasticsearchDocument } from './bulk.ts'
import { dataStreamRule, type IndexName, indexRule } from './index-name.ts'

/** The default of the option `index`. */
export const DEFAULT_INDEX = 'lazaret-events-{yyyy.MM.dd}'
/** The default of the option `maxBulkEvents`. */
export const DEFAULT_BULK_EVENTS = 1_000
/** The default of the option `maxBulkBytes`. */
export const DEFAULT_BULK_BYTES = 5_242_880

/** Options of `elasticsearch()`. */
export interface ElasticsearchOptions extends HttpServerOptions {
  /** A user and password in it become the Authorization header. */
  readonly url: string
  /** The API key, in the encoded form that Elasticsearch shows when it makes one [none]. */
  readonly apiKey?: string | undefined
  /** A name with `{channel}` and dates such as `{yyyy.MM.dd}`, or a function ['lazaret-events-{yyyy.MM.dd}']. */
  readonly index?: string | IndexName | undefined
  /** The name of a data stream, instead of an index [none]. */
  readonly dataStream?: string | undefined
  /** What is stored of an event [all of it, with its time as `@timestamp`]. */
  readonly document?: ElasticsearchDocument | undefined
  /** Compresses larger bodies [false]. */
  readonly gzip?: boolean | undefined
  /** Events in a request [1000]. */
  readonly maxBulkEvents?: number | undefined
  /** Bytes of a request, before it is compressed [5 MiB]. */
  readonly maxBulkBytes?: number | undefined
  /** What is asked with HEAD how the server is; false: the next batch finds out ['/']. */
  readonly probe?: string | false | undefined
}

const rules = {
  url: httpUrl('https://elastic:password@elasticsearch:9200'),
  ...serverRules,
  apiKey: optional(secretText),
  index: optional(indexRule),
  dataStream: dataStreamRule,
  document: optional(synchronous<ElasticsearchDocument>('give a function from event to document')),
  gzip: withDefault(flag(), false),
  maxBulkEvents: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_BULK_EVENTS),
  maxBulkBytes: withDefault(integer({ min: 1_024 }), DEFAULT_BULK_BYTES),
  probe: withDefault(probeRule, '/'),
}

const relations: Relations<typeof rules> = ({ url, apiKey, token, index, dataStream }, fault) => {
  const ways = [apiKey, token, url.authorization].filter(way => way !== undefined)
  if (ways.length > 1)
    fault(
      apiKey === undefined ? 'token' : 'apiKey',
      'give one: an API key, a token, or credentials in the URL',
    )
  if (index !== undefined && dataStream !== undefined)
    fault('dataStream', 'give either an index or a data stream')
}

export type ElasticsearchSettings = Resolved<typeof rules>

export function resolveElasticsearch(options: ElasticsearchOptions): ElasticsearchSettings {
  return resolveOptions('elasticsearch', rules, options, relations)
}
