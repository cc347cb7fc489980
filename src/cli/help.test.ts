import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../test/support/cli.ts'
import { COMMANDS } from './commands.ts'
import { parse } from './parse.ts'

const { lazaret, lazaretWith } = cliWorld()

describe('help', () => {
  it('F8: without anything, with --help, -h and help, the verbs are listed', async () => {
    const { code, out } = await lazaret()
    expect(code).toBe(0)
    for (const argv of [['--help'], ['-h'], ['help']]) expect((await lazaret(...argv)).out).toBe(out)
    for (const { name } of COMMANDS) expect(out).toContain(`\n  ${name}`)
    expect(out).toContain('Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done in part.')
  })

  it('F8: a family lists its verbs', async () => {
    const { code, out } = await lazaret('dlq', '--help')
    expect(code).toBe(0)
    expect(out).toMatch(/^Usage: lazaret dlq COMMAND \[flags\]\n/)
    expect(out).not.toContain('groups list')
    expect((await lazaret('help', 'dlq')).out).toBe(out)
  })

  it.each(COMMANDS.map(({ name }) => name))(
    'F8: lazaret %s --help tells its flags, with examples',
    async name => {
      const { code, out, err } = await lazaret(...name.split(' '), '--help')
      const { flags, examples } = COMMANDS.find(each => each.name === name)!
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out.startsWith(`Usage: lazaret ${name}`)).toBe(true)
      for (const flag of Object.keys(flags)) expect(out).toContain(`  --${flag}`)
      for (const example of examples) expect(out).toContain(`  ${example}`)
    },
  )

  it.each(COMMANDS.flatMap(({ examples }) => examples))('F8: the example works: %s', example => {
    for (const line of example.split('|').map(each => each.trim())) {
      if (!line.startsWith('lazaret')) continue
      const argv = [...line.matchAll(/'([^']*)'|(\S+)/g)]
        .slice(1)
        .map(([, quoted, plain]) => quoted ?? plain!)
      expect(parse(argv, 0).kind).toBe('run')
    }
  })

  it('F8: lines fit the terminal, and are never too long to read', async () => {
    const longest = (text: string) => Math.max(...text.split('\n').map(line => line.length))
    const { out: wide } = await lazaretWith({ columns: 300 }, 'dlq', 'list', '--help')
    const { out: narrow } = await lazaretWith({ columns: 80 }, 'dlq', 'list', '--help')
    expect(longest(wide)).toBeLessThanOrEqual(100)
    expect(longest(narrow)).toBeLessThanOrEqual(80)
  })

  it('F8: --version says the version and nothing else', async () => {
    const { code, out } = await lazaret('--version')
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    expect((await lazaret('-V')).out).toBe(out)
  })
})
