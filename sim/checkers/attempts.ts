import { type EndedWorld, groupBy } from './checker.ts'

/**
 * The number of attempts never exceeds the policy, including attempts that ended with their process; each copy of an
 * event has its own attempts in each cycle. Two kinds of runs do not count: a run that a closing consumer interrupted,
 * and a successful replayed run whose letter could not be resolved before the close, because the broker delivers the
 * event again. No run starts before the broker has recorded it, and a consumer never runs more handlers at once than
 * its concurrency. Too many attempts would overload a dependency and repeat side effects.
 */
export function* attempts({ plan, history }: EndedWorld): Iterable<string> {
  const published = groupBy(history.of('published'), 'event', 'replay')
  const interrupted = history.of('aborted').filter(({ why }) => why === 'ShuttingDown')
  const takenBack = new Set(interrupted.map(({ run }) => run))
  const returned = new Set(history.of('returned').map(({ run }) => run))
  const begun = new Map<string, number>()
  const count = (consumer: string, event: string, by: number): number => {
    const id = `${consumer} ${event}`
    const total = (begun.get(id) ?? 0) + by
    begun.set(id, total)
    return total
  }
  for (const fact of history.of('begun', 'started')) {
    if (fact.what === 'begun') count(fact.consumer, fact.event, 1)
    else {
      if (count(fact.consumer, fact.event, -1) < 0)
        yield `${fact.consumer} ran ${fact.event} without a recorded start`
      const handler = plan.handlers.find(({ name }) => name === fact.handler)!
      if (fact.running > handler.concurrency)
        yield `${fact.consumer} runs ${fact.running} handlers at once; ${handler.concurrency} are allowed`
      if (fact.attempt > handler.retry.attempts)
        yield `${fact.consumer} made attempt ${fact.attempt} of ${fact.event}; ${handler.retry.attempts} are allowed`
    }
  }
  for (const [id, runs] of groupBy(history.of('started'), 'handler', 'event', 'replay')) {
    const [{ handler, event, replay }] = runs as [(typeof runs)[0]]
    const isFree = (run: number) => takenBack.has(run) || (replay > 0 && returned.has(run))
    const counted = runs.filter(({ run }) => !isFree(run)).length
    const copies = published.get(`${event} ${replay}`)?.length ?? 0
    const allowed = plan.handlers.find(({ name }) => name === handler)!.retry.attempts * copies
    if (counted > allowed) yield `${id}: ${counted} attempts; ${allowed} are allowed`
  }
}
