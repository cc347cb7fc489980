import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse } from '../../cli/parse.ts'
import type { Replay } from '../../ports/replays.ts'
import { resolvePlan } from '../../replay/plan-options.ts'
import { planCommand } from './command.ts'

/** What a shell makes of it. */
function words(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|\\'|[^\s'])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|\\(')/g, (_, quoted, escaped) => quoted ?? escaped),
  )
}

it('B10: the command line plans the same as the console', () => {
  const text = fc.string({ minLength: 1, maxLength: 40 }).filter(each => !each.startsWith('-'))
  const channel = fc.stringMatching(/^[a-z0-9]{1,9}([._-][a-z0-9]{1,9}){0,3}$/)
  fc.assert(
    fc.property(
      fc.record({
        reason: text,
        filter: fc.record(
          { channel: text, search: text, after: fc.integer({ min: 0, max: 4e12 }) },
          { requiredKeys: [] },
        ),
        stages: fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 4 }),
        perSecond: fc.integer({ min: 1, max: 500 }),
        maxAgeMs: fc.integer({ min: 1, max: 1e10 }),
        haltOnSameFingerprint: fc.boolean(),
        allowQuarantined: fc.boolean(),
        to: fc.option(channel, { nil: undefined }),
      }),
      request => {
        const asked = resolvePlan({ ...request, by: 'ann' })
        const halt = { refailRatio: asked.haltRefailRatio, onSameFingerprint: asked.haltOnSameFingerprint }
        const replay = { ...asked, selectedBy: { filter: asked.filter }, halt } as unknown as Replay
        const [, ...argv] = words(planCommand(replay, 'sqlite:./it is.db', undefined))
        const parsed = parse(argv, 0)
        expect(parsed.kind).toBe('run')
        if (parsed.kind !== 'run') return
        expect(parsed.command.name).toBe('replay plan')
        expect(parsed.flags).toMatchObject({
          reason: request.reason,
          ...request.filter,
          stages: request.stages,
          'per-second': request.perSecond,
          'max-age': request.maxAgeMs,
          store: 'sqlite:./it is.db',
          ...(request.to === undefined ? {} : { to: request.to }),
        })
        expect(parsed.flags['no-halt-on-same-cause'] === true).toBe(!request.haltOnSameFingerprint)
      },
    ),
  )
})
