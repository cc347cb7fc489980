import type { Context } from '../command.ts'
import { filterOf, type statsFlags } from '../flags/letters.ts'
import type { ExitCode } from '../io.ts'
import { counted, fieldLines, heading } from '../print/fields.ts'
import { jsonLine, outside } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { isoAndRelative } from '../print/times.ts'
import { withStore } from '../session.ts'

export function dlqStats({ io, flags }: Context<typeof statsFlags>): Promise<ExitCode> {
  return withStore(io, flags, async ({ store }) => {
    const stats = await store.deadLetters.stats(filterOf(flags))
    if (flags.json) {
      await io.stdout.write(jsonLine(outside(stats)))
      return 0
    }
    const paint = paintFor(io.stdout, io.env)
    const now = io.clock.now()
    const { count, oldestAt, newestAt, byState, byReason, byChannel } = stats
    await io.stdout.write(
      [
        `${counted(count, 'dead letter')}\n`,
        fieldLines(
          [
            ['oldest', oldestAt === undefined ? undefined : isoAndRelative(oldestAt, now)],
            ['newest', newestAt === undefined ? undefined : isoAndRelative(newestAt, now)],
          ],
          paint,
        ),
        ...Object.entries({ 'By state': byState, 'By reason': byReason, 'By channel': byChannel }).map(
          ([title, counts]) =>
            Object.keys(counts).length === 0 ? '' : heading(title, paint) + fieldLines(ranked(counts), paint),
        ),
      ].join(''),
    )
    return 0
  })
}

/** Most first. */
function ranked(counts: Readonly<Record<string, number>>): [string, string][] {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => [safeText(name), String(count)])
}
