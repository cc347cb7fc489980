export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export type { ElasticsearchDocument } from './elasticsearch/bulk.ts'
export { elasticsearch } from './elasticsearch/elasticsearch.ts'
export type { IndexName } from './elasticsearch/index-name.ts'
export {
  DEFAULT_BULK_BYTES,
  DEFAULT_BULK_EVENTS,
  DEFAULT_INDEX,
  type ElasticsearchOptions,
} from './elasticsearch/options.ts'
export { email } from './email/email.ts'
export { MailRefusedError } from './email/errors.ts'
export { DEFAULT_SMTP_TIMEOUT_MS, type EmailOptions } from './email/options.ts'
export type { MailTransport } from './email/transport.ts'
export { EventTooLargeError, SinkRefusedError, SinkUnreachableError } from './errors.ts'
export type { FileRotationOptions, FileSinkOptions } from './file/options.ts'
export { type FileSink, file } from './file/sink.ts'
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
export type { OtlpAgentOptions, OtlpFormat } from './otlp/exporter.ts'
export type { OtlpOptions } from './otlp/options.ts'
export type { PartialSuccess } from './otlp/partial-success.ts'
export type { OtlpAttribute } from './otlp/records.ts'
export { otlp } from './otlp/sink.ts'
export { DEFAULT_PAGERDUTY_URL, type PagerdutyOptions, pagerduty } from './pagerduty/pagerduty.ts'
export type { HttpClientOptions, HttpServerOptions } from './sending/target.ts'
export type { SentryErrorLike } from './sentry/event.ts'
export type { SentryOptions } from './sentry/options.ts'
export type { SentryClient, SentryResponse } from './sentry/sdk.ts'
export { sentry } from './sentry/sink.ts'
export type { Severity } from './severity.ts'
export { type SlackOptions, slack } from './slack/slack.ts'
export { type StdoutOptions, stdout } from './stdout/sink.ts'
export type { OutputStream } from './stdout/stream.ts'
