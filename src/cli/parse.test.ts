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
    [['dql', 'list'], "dql: there is no such verb; did you mean 'dlq'?"],
    [['dlq', 'lst'], "dlq lst: there is no such verb; did you mean 'dlq list'?"],
    [['dlq', 'ls'], "dlq ls: there is no such verb; did you mean 'dlq list'?"],
    [['list'], "list: there is no such verb; did you mean 'dlq list'?"],
    [['retry'], "retry: there is no such verb; did you mean 'replay'?"],
    [['frobnicate'], "frobnicate: there is no such verb; 'lazaret --help' lists them"],
    [['outbox'], 'outbox: say what to do: migrate, status'],
    [['rabbitmq'], 'rabbitmq: say what to do: declare, status'],
    [['groups'], 'groups: say what to do: list, show, ack, mute, resolve'],
    [['--json'], "say what to do; 'lazaret --help' lists it"],
    [['dlq', 'list', '--chanel', 'x'], "dlq list: there is no flag --chanel; did you mean '--channel'?"],
    [['dlq', 'list', '--wibble'], 'dlq list: there is no flag --wibble; --help lists them'],
    [['dlq', 'list', '-x'], 'dlq list: there is no flag -x; --help lists them'],
    [['dlq', 'stats', '--reveal'], 'dlq stats: there is no flag --reveal; --help lists them'],
    [['dlq', 'list', '--state', 'daed'], `dlq list: --state got "daed"; did you mean 'dead'?`],
    [
      ['dlq', 'list', '--category', 'x'],
      'dlq list: --category got "x"; give one of transient, schema, business, integration, unknown',
    ],
    [
      ['dlq', 'list', '--limit', '0'],
      `dlq list: --limit got "0"; give a whole number of at least 1, or 'all'`,
    ],
    [['dlq', 'list', '--limit'], 'dlq list: --limit needs a value: --limit N|all'],
    [['dlq', 'list', '--limit', '--json'], 'dlq list: --limit needs a value: --limit N|all'],
    [['dlq', 'list', '--json=yes'], "dlq list: --json takes no value; leave '=yes' out"],
    [['dlq', 'list', '--json', '--json'], 'dlq list: --json is given twice; give it once'],
    [
      ['dlq', 'list', '--after', 'noon'],
      `dlq list: --after got "noon"; give a time such as '2026-03-01T09:30Z', or '2h' for two hours ago`,
    ],
    [['dlq', 'list', 'extra'], 'dlq list: "extra" is too much; it takes flags only'],
    [['dlq', 'list', '--store', ''], 'dlq list: --store got ""; give a text that is not empty'],
    [['dlq', 'show'], 'dlq show: needs ID: lazaret dlq show ID'],
    [['dlq', 'show', 'a', 'b'], 'dlq show: "b" is too much; give ID alone'],
    [['dlq', 'discard'], 'dlq discard: needs ID…: lazaret dlq discard ID…'],
    [
      ['replay', 'plan'],
      'replay plan: needs --reason TEXT: why are they sent again? (--letter-reason filters)',
    ],
    [
      ['replay', 'plan', '--reason', 'x', '--stages', '1,all'],
      `replay plan: --stages got "1,all"; give numbers and 'rest' with commas between, such as '1,10,100,rest'`,
    ],
    [
      ['replay', 'plan', '--reason', 'x', '--halt-refail-ratio', '2'],
      'replay plan: --halt-refail-ratio got "2"; give a number from 0 up to 1',
    ],
    [['groups', 'mute', 'x'], 'groups mute: needs --until T, such as --until 3d'],
    [['completion', 'bsh'], "completion bsh: did you mean 'bash'?"],
    [['completion', 'cmd'], 'completion cmd: give bash, zsh or fish'],
  ])('F8: lazaret %j', async (argv, expected) => {
    const { code, out, err } = await lazaret(...argv)
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: `lazaret: ${expected}\n` })
  })
})
