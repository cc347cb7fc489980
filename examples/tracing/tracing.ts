import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { otelTracing } from 'lazaret/otel'

const url = process.env['OTLP_TRACES_URL'] ?? 'http://localhost:4318/v1/traces'
const kept = Number(process.env['TRACES_KEPT'] ?? 0.01)

/** The SDK, as any service sets it up; one trace in a hundred is kept. */
export const provider = new TracerProvider({
  sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(kept) }),
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
})
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

export const tracing = otelTracing()
