import { type Context, context, ROOT_CONTEXT, type Tracer, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { otelTracing } from '../../src/adapters/otel/index.ts'
import type { Tracing } from '../../src/ports/tracing.ts'

const SAMPLED = 0.01
const SUCCESS = 0

/** Accepts spans and drops them, because the cost of sending belongs to the exporter. */
const nowhere: SpanExporter = {
  export: (_spans, done) => done({ code: SUCCESS }),
  shutdown: async () => {},
}

export interface SampledTracing {
  readonly tracing: Tracing
  /** The contexts of a number of requests, of which the sampler keeps one in a hundred. */
  requests(count: number): readonly Context[]
  close(): Promise<void>
}

/** The OpenTelemetry SDK of a busy service, which samples one trace in a hundred. */
export function sampledTracing(): SampledTracing {
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(SAMPLED) })
  const provider = new TracerProvider({
    sampler,
    spanProcessors: [new BatchSpanProcessor({ exporter: nowhere })],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracer = provider.getTracer('bench')
  return {
    tracing: otelTracing({ tracerProvider: provider }),
    requests: count => Array.from({ length: count }, (_, index) => requestOf(tracer, index % 100 === 0)),
    async close() {
      await provider.shutdown()
      context.disable()
    },
  }
}

/** Draws trace ids until the sampler keeps exactly one in a hundred. */
function requestOf(tracer: Tracer, isKept: boolean): Context {
  for (;;) {
    const span = tracer.startSpan('request')
    if (span.isRecording() === isKept) return trace.setSpan(ROOT_CONTEXT, span)
  }
}
