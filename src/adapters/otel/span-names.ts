import type { Tracer } from '@opentelemetry/api'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { TracedConsumer } from '../../ports/tracing.ts'
import { SpanKind } from './api.ts'
import { MESSAGING, OWN } from './attributes.ts'
import type { TrailPlan } from './trail.ts'

interface Tools {
  readonly tracer: Tracer
  readonly masks: Masks
}

/** The names of the spans of a handler's events. */
export function stationSpans({ system, channel, handler }: TracedConsumer, tools: Tools): TrailPlan {
  const shared = {
    [MESSAGING.system]: system,
    [MESSAGING.destination]: channel,
    [MESSAGING.consumerGroup]: handler,
  }
  const operation = (name: string, type: string) => ({
    ...shared,
    [MESSAGING.operationName]: name,
    [MESSAGING.operationType]: type,
  })
  return {
    ...tools,
    attempt: {
      name: `process ${channel}`,
      kind: SpanKind.CONSUMER,
      attributes: operation('process', 'process'),
    },
    wait: { name: `wait ${channel}`, kind: SpanKind.INTERNAL, attributes: shared },
    dead: {
      name: `dead-letter ${channel}`,
      kind: SpanKind.CLIENT,
      attributes: operation('dead-letter', 'settle'),
    },
  }
}

/** The names of the spans of a protected function. */
export function callSpans(name: string, tools: Tools): TrailPlan {
  const attributes = { [OWN.call]: name }
  const within = (verb: string) => ({ name: `${verb} ${name}`, kind: SpanKind.INTERNAL, attributes })
  return {
    ...tools,
    attempt: within('attempt'),
    wait: within('wait'),
    dead: within('dead-letter'),
  }
}
