import { type EndedWorld, groupBy } from './checker.ts'

/**
 * An event that crashes its process is quarantined after the configured number of crashes, before it runs again.
 * Otherwise one event could keep all processes down. A crash after the deadline, or after the run was taken back, does
 * not count, because Lazaret cannot attribute it to the event.
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
    if (deaths.length > allowed) yield `${id} crashed ${deaths.length} processes; ${allowed} are allowed`
  }
}
