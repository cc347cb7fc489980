import type { Random } from '../src/core/random.ts'
import { DeliveryLostError } from '../src/ports/broker.ts'
import type { Observer } from '../src/ports/observer.ts'
import type { StandardSchema } from '../src/ports/schema.ts'
import { type Consumer, createConsumer } from '../src/runtime/consumer/consumer.ts'
import { BrokenFunctions } from './broken-functions.ts'
import type { Connection } from './connection.ts'
import { handlerOf } from './handler.ts'
import type { HandlerPlan } from './plan.ts'
import { FateError, type Process } from './process.ts'
import { LedgerClient, type Letters } from './stores.ts'
import { WatchedBreaker } from './watched-breaker.ts'

/** The consumers of one incarnation. They share its connection and its clients, as they would. */
export function createConsumers(
  process: Process,
  plans: readonly HandlerPlan[],
  {
    broker,
    random,
    letters,
  }: { readonly broker: Connection; readonly random: Random; readonly letters: Letters },
): readonly Consumer[] {
  const { plan } = process.scene
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
      breaker: breaker === 'off' ? 'off' : new WatchedBreaker(process, name, breaker),
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
  const { journal } = process.scene
  const who = { consumer: `${process.name}/${handler}`, handler }
  return {
    eventDropped: ({ type }) => {
      if (process.isAlive) journal.note({ what: 'dropped', ...who, event: type, by: 'retry-limit' })
    },
    settlementFailed: ({ error }) => {
      const isExpected = error instanceof FateError || error instanceof DeliveryLostError
      if (!isExpected && process.isAlive) journal.note({ what: 'mistake', ...who, error: String(error) })
    },
  }
}

/** An event can be worth a letter in one of its lives and not in another. */
function keeps(process: Process, handler: string, event: string, retryCount: number): boolean {
  const isKept = process.scene.plan.events.get(event)?.unworthy !== true || retryCount === 0
  const consumer = `${process.name}/${handler}`
  if (!isKept && process.isAlive)
    process.scene.journal.note({ what: 'dropped', consumer, handler, event, by: 'filter' })
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
