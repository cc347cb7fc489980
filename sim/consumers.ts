import type { Random } from '../src/core/random.ts'
import { DeliveryLostError } from '../src/ports/broker.ts'
import type { Observer } from '../src/ports/observer.ts'
import type { StandardSchema } from '../src/ports/schema.ts'
import { type Consumer, createConsumer } from '../src/runtime/consumer/consumer.ts'
import { BrokenFunctions } from './broken-functions.ts'
import type { Connection } from './connection.ts'
import { handlerOf } from './handler.ts'
import type { HandlerPlan } from './plan.ts'
import { InjectedError, type Process } from './process.ts'
import { RecordingBreaker } from './recording-breaker.ts'
import { LedgerClient, type Letters } from './stores.ts'

/** The consumers of one process. They share its connection and clients, as in production. */
export function createConsumers(
  process: Process,
  plans: readonly HandlerPlan[],
  {
    broker,
    random,
    letters,
  }: { readonly broker: Connection; readonly random: Random; readonly letters: Letters },
): readonly Consumer[] {
  const { plan } = process.world
  const ledger = new LedgerClient(process)
  return plans.map(handler => {
    const { name, hasSchema, hasFilter, breaker, retry, ...policies } = handler
    const functions = new BrokenFunctions(process, name)
    const { classify, notifier } = functions
    const schema = functions.schema(hasSchema === 'no' ? undefined : schemaOf(hasSchema))
    const filter = functions.filter(
      hasFilter
        ? { saveIf: ({ event, retryCount }) => keeps(process, name, event.id, retryCount) }
        : undefined,
    )
    return createConsumer({
      ...policies,
      retry: { ...retry, backoff: functions.backoff(retry.backoff) },
      ...(plan.letters === 'broker' ? {} : letters),
      name,
      broker,
      clock: process,
      random: functions.random(random),
      host: process.name,
      breaker: breaker === 'off' ? 'off' : new RecordingBreaker(process, name, breaker),
      handle: handlerOf(process, handler, functions),
      observer: functions.observer(observerOf(process, name)),
      classify,
      ...(schema === undefined ? {} : { schema }),
      ...(filter === undefined ? {} : { filter }),
      ...(notifier === undefined ? {} : { notifier }),
      ...(plan.hasLedger ? { ledger } : {}),
    })
  })
}

function observerOf(process: Process, handler: string): Observer {
  const { history } = process.world
  const who = { consumer: `${process.name}/${handler}`, handler }
  return {
    eventDropped: ({ type }) => {
      if (process.isAlive) history.record({ what: 'dropped', ...who, event: type, by: 'retry-limit' })
    },
    settlementFailed: ({ error }) => {
      const isExpected = error instanceof InjectedError || error instanceof DeliveryLostError
      if (!isExpected && process.isAlive)
        history.record({ what: 'unexpectedError', ...who, error: String(error) })
    },
  }
}

/** The filter keeps the letter of an event in one cycle and drops it in another. */
function keeps(process: Process, handler: string, event: string, retryCount: number): boolean {
  const isKept = process.world.plan.events.get(event)?.isFiltered !== true || retryCount === 0
  const consumer = `${process.name}/${handler}`
  if (!isKept && process.isAlive)
    process.world.history.record({ what: 'dropped', consumer, handler, event, by: 'filter' })
  return isKept
}

function schemaOf(kind: HandlerPlan['hasSchema']): StandardSchema {
  const judge = (value: unknown) =>
    typeof value === 'object'
      ? { value: { ...value, checked: true } }
      : { issues: [{ message: 'not an object' }] }
  return {
    '~standard': {
      version: 1,
      vendor: 'sim',
      validate: value => (kind === 'async' ? Promise.resolve().then(() => judge(value)) : judge(value)),
    },
  }
}
