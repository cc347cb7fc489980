import type { Agent, AgentOptions } from 'node:http'
import { loadClient } from '../../../adapter-kit/load-client.ts'

/** The format of OTLP requests. */
export type OtlpFormat = 'protobuf' | 'json'

/** The fields of a log record that the exporters of OpenTelemetry read. */
export interface OtlpLogRecord {
  readonly hrTime: [seconds: number, nanoseconds: number]
  readonly hrTimeObserved: [seconds: number, nanoseconds: number]
  readonly spanContext?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  readonly severityNumber: number
  readonly severityText: string
  readonly body: unknown
  readonly eventName: string
  readonly resource: { readonly attributes: Readonly<Record<string, unknown>> }
  readonly instrumentationScope: { readonly name: string; readonly version?: string }
  readonly attributes: Readonly<Record<string, unknown>>
  readonly droppedAttributesCount: number
}

interface ExportResult {
  /** 0 is success. */
  readonly code: number
  readonly error?: Error
}

/** `OTLPLogExporter` of either package. */
export interface OtlpLogExporter {
  export(records: readonly OtlpLogRecord[], done: (result: ExportResult) => void): void
  shutdown(): Promise<void>
}

interface OtlpExporterConfig {
  readonly url: string
  readonly headers: Record<string, string>
  readonly compression: 'none' | 'gzip'
  readonly timeoutMillis: number
  readonly concurrencyLimit: number
  readonly httpAgentOptions: (protocol: string) => Promise<Agent>
}

/** What of the agent's options is passed on: certificates, sockets. */
export type OtlpAgentOptions = AgentOptions

interface ExporterModule {
  readonly OTLPLogExporter: new (config: OtlpExporterConfig) => OtlpLogExporter
}

/** Loaded when the first batch is written: importing only types or options needs no client. */
export async function openExporter(format: OtlpFormat, config: OtlpExporterConfig): Promise<OtlpLogExporter> {
  const module: unknown = await (format === 'json'
    ? loadClient(
        '@opentelemetry/exporter-logs-otlp-http',
        () => import('@opentelemetry/exporter-logs-otlp-http'),
      )
    : loadClient(
        '@opentelemetry/exporter-logs-otlp-proto',
        () => import('@opentelemetry/exporter-logs-otlp-proto'),
      ))
  return new (module as ExporterModule).OTLPLogExporter(config)
}
