import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { type Decision, unblockLetter } from '../operations/decide.ts'
import type { Broker } from '../ports/broker.ts'
import { isFrom, isUnroutable, noRoute } from '../replay/routes.ts'
import { openBrokers } from './brokers.ts'
import { FailedError } from './io.ts'
import type { Session } from './session.ts'

/** Lets events that wait for the letter continue. Returns the letter, which stays as it is. */
export async function unblockKey(
  session: Session,
  letter: DeadLetter,
  decision: Decision,
): Promise<DeadLetter> {
  const isUnblocked = await withBrokerOf(session, letter, broker =>
    unblockLetter(session.store, broker, letter, decision),
  )
  if (!isUnblocked) throw new FailedError(`key of ${letter.id}: ${noRoute(letter.origin).reason}`)
  return letter
}

/**
 * Unblocks the key of a letter that was discarded. The broker of the store has done it for its own letters. No letter says
 * whether its consumer keeps the order of keys, so a key that cannot be unblocked is only a warning.
 */
export async function continueKey(session: Session, letter: DeadLetter, decision: Decision): Promise<void> {
  const { id, event, origin } = letter
  const own = session.store.broker
  if (event.key === undefined || origin.broker === undefined) return
  if (own !== undefined && isFrom(origin, own)) return
  const warn = (reason: string) =>
    session.io.stderr.write(
      `warning: if the consumer of ${id} keeps the order of keys, events of its key still wait: ${reason}. Then run: lazaret dlq unblock ${id}\n`,
    )
  try {
    const unblock = (broker: Pick<Broker, 'unblockKey'>) =>
      unblockLetter(session.store, broker, letter, decision)
    if (!(await withBrokerOf(session, letter, unblock))) await warn(noRoute(origin).reason)
  } catch (error) {
    // On RabbitMQ nobody is there to be told if no consumer keeps the order.
    if (!isUnroutable(error)) await warn((error as Error).message)
  }
}

/** Runs the work with the broker that the letter came from. False if neither the store nor the config has it. */
async function withBrokerOf(
  { store, config, io }: Session,
  { origin }: DeadLetter,
  work: (broker: Pick<Broker, 'unblockKey'>) => Promise<void>,
): Promise<boolean> {
  const own = store.broker === undefined ? [] : [store.broker]
  const opened = await openBrokers(config, [store], io, () => {})
  try {
    const broker = [...own, ...opened].find(each => isFrom(origin, each))
    if (broker === undefined) return false
    await work(broker)
    return true
  } finally {
    for (const each of opened) await each.close()
  }
}
