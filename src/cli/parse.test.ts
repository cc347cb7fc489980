import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../test/support/cli.ts'
import { COMMANDS } from './commands.ts'
import { parse } from './parse.ts'

const NOW = Date.UTC(2026, 0, 1)
const { lazaret } = cliWorld()
const flagsOf = (...argv: string[]) => {
  const parsed = parse(argv, NOW)
  return parsed.kind === 'run' ? { verb: parsed.command.name, args: parsed.args, ...parsed.flags } : parsed
}

describe('a command line is read', () => {
  it('F8: flags stand before, between and after the words of the verb', () => {
    const expected = { verb: 'dlq show', args: ['abc'], json: true, store: 'memory:' }
    expect(flagsOf('--json', 'dlq', '--store', 'memory:', 'show', 'abc')).toEqual(expected)
    expect(flagsOf('dlq', 'show', 'abc', '--store=memory:', '--json')).toEqual(expected)
  })

  it('F8: values are read by their kind', () => {
    expect(
      flagsOf(
        'replay',
        'plan',
        '--reason',
        'mended',
        '--stages',
        '1, 10,rest',
        '--per-second',
        '2.5',
        '--max-age',
        '2d',
      ),
    ).toMatchObject({ reason: 'mended', stages: [1, 10, 'rest'], 'per-second': 2.5, 'max-age': 172_800_000 })
    expect(flagsOf('dlq', 'list', '--after', '2h', '--limit', 'all', '--state', 'dead')).toMatchObject({
      after: NOW - 7_200_000,
      limit: Number.POSITIVE_INFINITY,
      state: 'dead',
    })
  })

  it('F8: after -- everything is an argument, and --flag=value takes any value', () => {
    expect(flagsOf('dlq', 'show', '--', '--odd')).toMatchObject({ args: ['--odd'] })
    expect(flagsOf('dlq', 'list', '--search=--json')).toMatchObject({ search: '--json' })
  })

  it('F8: a flag takes a value in every command or in none, so that it can stand before the verb', () => {
    const kinds = new Map<string, boolean>()
    for (const { name, flags } of COMMANDS)
      for (const [flag, { placeholder }] of Object.entries(flags)) {
        const takesValue = placeholder !== undefined
        expect(kinds.get(flag) ?? takesValue, `--${flag} of ${name}`).toBe(takesValue)
        kinds.set(flag, takesValue)
      }
  })
})

describe('what was typed wrong is answered in one line with what to do, and exit code 2', () => {
  it.each([
    [['dql', 'list'], "unknown command 'dql'; did you mean 'dlq'?"],
    [['dlq', 'lst'], "unknown command 'dlq lst'; did you mean 'dlq list'?"],
    [['dlq', 'ls'], "unknown command 'dlq ls'; did you mean 'dlq list'?"],
    [['list'], "unknown command 'list'; did you mean 'dlq list'?"],
    [['retry'], "unknown command 'retry'; did you mean 'replay'?"],
    [['frobnicate'], "unknown command 'frobnicate'; run 'lazaret --help' for the list"],
    [['outbox'], 'outbox: no subcommand given; use one of migrate, status'],
    [['rabbitmq'], 'rabbitmq: no subcommand given; use one of declare, status'],
    [['groups'], 'groups: no subcommand given; use one of list, show, ack, mute, resolve'],
    [['--json'], "no command given; run 'lazaret --help' for the list"],
    [['dlq', 'list', '--chanel', 'x'], "dlq list: unknown flag --chanel; did you mean '--channel'?"],
    [['dlq', 'list', '--wibble'], 'dlq list: unknown flag --wibble; --help lists all flags'],
    [['dlq', 'list', '-x'], 'dlq list: unknown flag -x; --help lists all flags'],
    [['dlq', 'stats', '--reveal'], 'dlq stats: unknown flag --reveal; --help lists all flags'],
    [['dlq', 'list', '--state', 'daed'], `dlq list: invalid --state "daed"; did you mean 'dead'?`],
    [
      ['dlq', 'list', '--category', 'x'],
      'dlq list: invalid --category "x"; give one of transient, schema, business, integration, unknown',
    ],
    [
      ['dlq', 'list', '--limit', '0'],
      `dlq list: invalid --limit "0"; give a whole number of at least 1, or 'all'`,
    ],
    [['dlq', 'list', '--limit'], 'dlq list: --limit needs a value: --limit N|all'],
    [['dlq', 'list', '--limit', '--json'], 'dlq list: --limit needs a value: --limit N|all'],
    [['dlq', 'list', '--json=yes'], "dlq list: --json takes no value; remove '=yes'"],
    [['dlq', 'list', '--json', '--json'], 'dlq list: --json appears twice; give it once'],
    [
      ['dlq', 'list', '--after', 'noon'],
      `dlq list: invalid --after "noon"; give a time such as '2026-03-01T09:30Z', or '2h' for two hours ago`,
    ],
    [['dlq', 'list', 'extra'], 'dlq list: unexpected argument "extra"; dlq list takes only flags'],
    [['dlq', 'list', '--store', ''], 'dlq list: invalid --store ""; give a non-empty text'],
    [['dlq', 'show'], 'dlq show: ID is missing; usage: lazaret dlq show ID'],
    [['dlq', 'compare', 'a'], 'dlq compare: ID is missing; usage: lazaret dlq compare ID ID'],
    [['dlq', 'show', 'a', 'b'], 'dlq show: unexpected argument "b"; usage: lazaret dlq show ID'],
    [['dlq', 'reopen'], 'dlq reopen: ID is missing; usage: lazaret dlq reopen ID…'],
    [
      ['replay', 'plan'],
      'replay plan: --reason is missing; give the reason for the replay (--letter-reason filters letters)',
    ],
    [
      ['replay', 'plan', '--reason', 'x', '--stages', '1,all'],
      `replay plan: invalid --stages "1,all"; give numbers and 'rest', separated by commas, such as '1,10,100,rest'`,
    ],
    [
      ['replay', 'plan', '--reason', 'x', '--stages', 'rest,1'],
      `replay plan: invalid --stages "rest,1"; 'rest' must be last`,
    ],
    [
      ['replay', 'plan', '--reason', 'x', '--per-second', '0'],
      'replay plan: invalid --per-second "0"; give a number above 0 and at most 100000',
    ],
    [
      ['replay', 'plan', '--reason', 'x', '--halt-refail-ratio', '2'],
      'replay plan: invalid --halt-refail-ratio "2"; give a number from 0 to 1',
    ],
    [['groups', 'mute', 'x'], 'groups mute: --until is missing; give a time such as --until 3d'],
    [['completion', 'bsh'], "completion: unknown shell 'bsh'; did you mean 'bash'?"],
    [['completion', 'cmd'], "completion: unknown shell 'cmd'; use bash, zsh or fish"],
  ])('F8: lazaret %j', async (argv, expected) => {
    const { code, out, err } = await lazaret(...argv)
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: `lazaret: ${expected}\n` })
  })
})
