import type { Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import type { Flags } from './flag.ts'

const GLOBAL_FLAG_ROWS = [
  [
    '--store URL',
    'memory: · file:DIR · sqlite:FILE · postgres://… · redis://… [$LAZARET_STORE, the config, or sqlite:./lazaret.db]',
  ],
  ['--config FILE', 'config file [./lazaret.yaml, if it exists]'],
  ['--json', 'print JSON on stdout; messages go to stderr'],
  ['-h, --help', 'show help; after a command, its flags and examples'],
  ['-V, --version', 'show the version'],
] as const

/** Longer lines are hard to read, however wide the terminal is. */
const MAX_WIDTH = 100

/** Help for one command, for a family such as `dlq`, or for all commands. */
export function helpFor(name: string, columns = MAX_WIDTH): string {
  const width = Math.min(columns, MAX_WIDTH)
  const single = COMMANDS.find(command => command.name === name)
  if (single !== undefined) return commandHelp(single, width)
  const family = COMMANDS.filter(command => command.name.startsWith(`${name} `))
  if (family.length > 0)
    return lines(
      `Usage: lazaret ${name} COMMAND [flags]`,
      '',
      ...table(family.map(usage), width),
      '',
      `Run 'lazaret ${name} COMMAND --help' for details.`,
    )
  return overview(width)
}

function overview(width: number): string {
  return lines(
    'lazaret stores the events that could not be delivered or handled, and replays them.',
    '',
    'Usage: lazaret COMMAND [flags]',
    '',
    ...table(COMMANDS.map(usage), width),
    '',
    'Global flags:',
    ...table(GLOBAL_FLAG_ROWS, width),
    '',
    'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done in part.',
  )
}

function commandHelp(command: Command, width: number): string {
  const [name] = usage(command)
  return lines(
    `Usage: lazaret ${name} [flags]`,
    '',
    `${command.about[0]!.toUpperCase()}${command.about.slice(1)}.`,
    '',
    ...table(flagRows(command.flags), width),
    '',
    'Examples:',
    ...command.examples.map(example => `  ${example}`),
  )
}

function usage(command: Command): readonly [string, string] {
  const { name, arguments: expected, about } = command
  return [expected === undefined ? name : `${name} ${expected.placeholder}`, about]
}

function flagRows(flags: Flags): readonly (readonly [string, string])[] {
  return Object.entries(flags).map(([name, { placeholder, about, choices }]) => [
    placeholder === undefined ? `--${name}` : `--${name} ${placeholder}`,
    choices === undefined ? about : `${about}: ${choices.join(', ')}`,
  ])
}

/** Two columns, the right one in as many lines as it needs. */
function table(rows: readonly (readonly [string, string])[], width: number): string[] {
  const left = Math.max(...rows.map(([text]) => text.length))
  const room = Math.max(20, width - left - 4)
  return rows.flatMap(([name, about]) =>
    wrap(about, room).map((line, index) => `  ${(index === 0 ? name : '').padEnd(left)}  ${line}`),
  )
}

function wrap(text: string, room: number): string[] {
  const wrapped: string[] = []
  for (const word of text.split(' ')) {
    const last = wrapped.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= room)
      wrapped[wrapped.length - 1] = `${last} ${word}`
    else wrapped.push(word)
  }
  return wrapped
}

function lines(...parts: readonly string[]): string {
  return `${parts.join('\n')}\n`
}
