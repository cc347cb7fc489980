export type { ElasticsearchDocument } from './elasticsearch/bulk.ts'
export { elasticsearch } from './elasticsearch/elasticsearch.ts'
export type { IndexName } from './elasticsearch/index-name.ts'
export {
  DEFAULT_BULK_BYTES,
  DEFAULT_BULK_EVENTS,
  DEFAULT_INDEX,
  type ElasticsearchOptions,
} from './elasticsearch/options.ts'
export { EventTooLargeError, SinkRefusedError, SinkUnreachableError } from './errors.ts'
export type { HttpFormat, HttpFormatter } from './http/body.ts'
export { http, webhook } from './http/http.ts'
export {
  DEFAULT_REQUEST_BYTES,
  DEFAULT_REQUEST_EVENTS,
  DEFAULT_WEBHOOK_CONCURRENCY,
  type HttpSinkOptions,
  type WebhookOptions,
} from './http/options.ts'
export type { LokiLine, LokiMetadata } from './loki/entries.ts'
export type { LabelField } from './loki/labels.ts'
export { loki } from './loki/loki.ts'
export {
  DEFAULT_LABEL_VALUES,
  DEFAULT_LINE_BYTES,
  DEFAULT_PUSH_BYTES,
  DEFAULT_PUSH_EVENTS,
  type LokiOptions,
} from './loki/options.ts'
