import { SeverityNumber } from '@opentelemetry/api-logs'
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { BatchLogRecordProcessor, LoggerProvider, type LogRecordExporter } from '@opentelemetry/sdk-logs'
import { yieldToEventLoop } from '../../src/ports/clock.ts'
import type { Candidate, Targets } from './candidate.ts'
import { payloadOf, TYPE } from './payload.ts'

/** The batch size of the Lazaret sinks, which is faster than the default of 512. */
const BATCH = 1_000
/** A queue that drops no event. The default drops events over 2 048. */
const QUEUE = 1_000_000
const DELAY_MS = 50

function openTelemetry(exporterTo: (url: string) => LogRecordExporter, { live, dead }: Targets): Candidate {
  const processors = [...live, ...dead].map(
    url =>
      new BatchLogRecordProcessor({
        exporter: exporterTo(`${url}/v1/logs`),
        maxQueueSize: QUEUE,
        maxExportBatchSize: BATCH,
        scheduledDelayMillis: DELAY_MS,
      }),
  )
  const provider = new LoggerProvider({ processors })
  const logger = provider.getLogger('bench')
  return {
    emit(order) {
      logger.emit({
        eventName: TYPE,
        severityNumber: SeverityNumber.INFO,
        severityText: 'info',
        body: TYPE,
        attributes: payloadOf(order),
      })
    },
    room: yieldToEventLoop,
    close: () => provider.shutdown(),
  }
}

export const otelJson = (targets: Targets) => openTelemetry(url => new JsonExporter({ url }), targets)
export const otelProtobuf = (targets: Targets) => openTelemetry(url => new ProtobufExporter({ url }), targets)
