import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, type Sampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { otelTracing } from '../../src/adapters/otel/index.ts'
import type { Tracing } from '../../src/ports/tracing.ts'
import { type CollectedSpan, otlpTracesReceiver } from '../receivers/otlp-traces.ts'

/** Where the SDK sends its spans. */
export interface TracesReceiver {
  readonly tracesUrl: string
  /** What was taken, in order. */
  spans(): Promise<readonly CollectedSpan[]>
  close(): Promise<void>
}

export interface TracingWorld {
  readonly tracing: Tracing
  /** Runs it in a span of its own, as the code of a service would. */
  inSpan<T>(name: string, work: () => Promise<T>): Promise<T>
  /** All spans that have ended, as a collector got them. */
  spans(): Promise<readonly CollectedSpan[]>
  close(): Promise<void>
}

/** The receiver that the tests bring. */
export async function ownTracesReceiver(): Promise<TracesReceiver> {
  const { tracesUrl, spans, close } = await otlpTracesReceiver()
  return { tracesUrl, spans: async () => spans, close }
}

/** The SDK of OpenTelemetry as a service sets it up, exporting to a local collector. */
export async function tracingWorld(
  sampler?: Sampler,
  opening: Promise<TracesReceiver> = ownTracesReceiver(),
): Promise<TracingWorld> {
  const receiver = await opening
  const exporter = new OTLPTraceExporter({ url: receiver.tracesUrl })
  const provider = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter })],
    ...(sampler === undefined ? {} : { sampler }),
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracer = provider.getTracer('shop')
  return {
    tracing: otelTracing({ tracerProvider: provider }),
    inSpan: (name, work) =>
      tracer.startActiveSpan(name, async span => {
        try {
          return await work()
        } finally {
          span.end()
        }
      }),
    async spans() {
      await provider.forceFlush()
      return receiver.spans()
    },
    async close() {
      await provider.shutdown()
      context.disable()
      trace.disable()
      await receiver.close()
    },
  }
}
