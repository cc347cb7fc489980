// npm run storm: a sink is down for 10 s while 1 000 events wait for it, once with the retry limit and once without it.
// Shows both live, prints the figures and draws docs/pictures/storm.svg. `-- --waiting 200 --down 2` is a short form.
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { DispatcherHealth } from '../../src/index.ts'
import { perSecond, stormSvg } from './plot.ts'
import { type StormFigures, type StormPlan, storm } from './storm.ts'

const SECOND_MS = 1_000
const picture = new URL('../../docs/pictures/storm.svg', import.meta.url)
const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '1000' },
    down: { type: 'string', default: '10' },
    limit: { type: 'string', default: '100' },
    /** Leaves the picture in docs as it is. */
    'no-picture': { type: 'boolean', default: false },
  },
})
const waiting = Number(values.waiting)
const downMs = Number(values.down) * SECOND_MS
const limit = Number(values.limit)

const write = (line: string) => process.stdout.write(`${line}\n`)

/** A line for every second or so: what has been delivered since the line before, and what waits. */
function liveLines(scale: number): NonNullable<StormPlan['watch']> {
  let before = { elapsedMs: 0, delivered: 0 }
  return (health: DispatcherHealth, elapsedMs) => {
    if (elapsedMs - before.elapsedMs < SECOND_MS) return
    const { delivered, buffered, breakerState } = health.sinks['loki']!
    const count = delivered - before.delivered
    const bar = '█'.repeat(Math.round((count / scale) * 50))
    const time = `${(elapsedMs / SECOND_MS).toFixed(1)} s`.padStart(7)
    write(
      `${time}  ${breakerState.padEnd(9)} ${String(buffered).padStart(5)} wait  ${String(count).padStart(5)} delivered  ${bar}`,
    )
    before = { elapsedMs, delivered }
  }
}

async function run(of: number | 'off'): Promise<StormFigures> {
  write(
    `\n${waiting} events, the sink is down for ${downMs / SECOND_MS} s, ${of === 'off' ? 'no limit' : `at most ${of} retries a second`}`,
  )
  const figures = await storm({ waiting, downMs, limit: of, watch: liveLines(of === 'off' ? waiting : of) })
  const { mostInASecond, firstAfterMs, drainedAfterMs, lost, twice, letters, arrivals, backAtMs } = figures
  write(
    JSON.stringify({
      limit: of,
      waiting,
      downMs,
      received: arrivals.length,
      mostInASecond,
      firstAfterMs,
      drainedAfterMs,
      lost,
      twice,
      letters,
    }),
  )
  const rates = perSecond(arrivals, backAtMs, Math.ceil(drainedAfterMs / SECOND_MS + 1) * SECOND_MS)
  write(
    `received in each second after the return of the sink: ${rates
      .filter(({ afterMs }) => afterMs % SECOND_MS === 0)
      .map(({ perSecond: rate }) => rate)
      .join(' ')}`,
  )
  return figures
}

const limited = await run(limit)
const unlimited = await run('off')
if (!values['no-picture']) {
  mkdirSync(new URL('.', picture), { recursive: true })
  writeFileSync(picture, stormSvg(limited, unlimited))
  write('\nwrote docs/pictures/storm.svg')
}
const holds = limited.mostInASecond <= limit && limited.lost === 0 && unlimited.lost === 0
write(
  holds
    ? `\nOK: at most ${limit} retries in any second, no event lost`
    : `\nFAILED: more than ${limit} retries in a second, or lost events`,
)
process.exitCode = holds ? 0 : 1
