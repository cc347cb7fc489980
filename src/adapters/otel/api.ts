import { createRequire } from 'node:module'
import type * as OpenTelemetry from '@opentelemetry/api'
import { requireClient } from '../../adapter-kit/load-client.ts'

// An `import` of a package that is not installed fails before any code of this one runs, and a top-level await would keep
// CommonJS from loading this entry. So the package is required, and the error of a missing one says how to install it.
const require = createRequire(import.meta.url)
const api: typeof OpenTelemetry = requireClient('@opentelemetry/api', () => require('@opentelemetry/api'))

export const {
  context,
  createTraceState,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} = api
