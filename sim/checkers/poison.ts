import { type EndedWorld, groupBy } from './checker.ts'

/**
 * An event that kills its process is quarantined after so many crashes, and before it runs again. That it blocks nobody
 * else is what coming to rest means: all others were finished although it was there. A run that kills after its time was
 * over, or after it was taken back, is not known to be the killer.
 */
export function* poison({ plan, history }: EndedWorld): Iterable<string> {
  const published = groupBy(history.of('published'), 'event', 'replay')
  const started = new Map(history.of('started').map(({ run, replay }) => [run, replay]))
  const aborted = new Set(history.of('aborted').map(({ run }) => run))
  const known = history.of('killed').filter(({ run }) => !aborted.has(run))
  const kills = known.map(fact => ({ ...fact, replay: started.get(fact.run) }))
  for (const [id, deaths] of groupBy(kills, 'handler', 'event', 'replay')) {
    const [{ handler, event, replay }] = deaths as [(typeof deaths)[0]]
    const { poison } = plan.handlers.find(({ name }) => name === handler)!
    if (poison === 'off') continue
    const allowed = poison.crashes * (published.get(`${event} ${replay}`)?.length ?? 0)
    if (deaths.length > allowed) yield `${id} took down ${deaths.length} processes; ${allowed} are allowed`
  }
}
