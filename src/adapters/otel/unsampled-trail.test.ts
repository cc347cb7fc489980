import { context, createContextKey, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { UnsampledTrail } from './unsampled-trail.ts'

const TENANT = createContextKey('tenant')
const traceOf = (n: number) => `4bf92f3577b34da6a3ce929d0e0e47${n.toString(16).padStart(2, '0')}`
const trail = (n: number) => new UnsampledTrail({ traceparent: `00-${traceOf(n)}-00f067aa0ba902b7-00` })
const seen = () => [trace.getActiveSpan()?.spanContext().traceId, context.active().getValue(TENANT)]

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())

it('E20: is the context of its trace, with all other values of the context of its caller', () => {
  const told: unknown[] = []
  context.with(ROOT_CONTEXT.setValue(TENANT, 'acme'), () =>
    trail(1).run(() => {
      told.push(seen())
      context.with(context.active().setValue(TENANT, 'other'), () => told.push(seen()))
      context.with(context.active().deleteValue(TENANT), () => told.push(seen()))
      context.with(trace.deleteSpan(context.active()), () => told.push(seen()))
    }),
  )
  expect(told).toEqual([
    [traceOf(1), 'acme'],
    [traceOf(1), 'other'],
    [traceOf(1), undefined],
    [undefined, 'acme'],
  ])
})

it('E20: what is begun in one, and so on, holds on to none of those before', () => {
  let told: unknown
  const next = (n: number): void => {
    if (n === 0) told = seen()
    else trail(n).run(() => next(n - 1))
  }
  context.with(ROOT_CONTEXT.setValue(TENANT, 'acme'), () => next(50))
  expect(told).toEqual([traceOf(1), 'acme'])
  const inner = trail(2)
  trail(1).run(() => inner.run(() => {}))
  expect(Object.values(inner)).not.toContainEqual(expect.any(UnsampledTrail))
})
