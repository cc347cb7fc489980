import { parseArgs } from 'node:util'
import type { Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import { type Flag, type Flags, FlagValueError } from './flag.ts'
import { HELP, VERSION } from './flags.ts'
import { UsageError } from './io.ts'
import { suggest } from './suggest.ts'

type Parsed =
  | { readonly kind: 'version' }
  /** The command, the family of commands, or '' for all. */
  | { readonly kind: 'help'; readonly of: string }
  | {
      readonly kind: 'run'
      readonly command: Command
      readonly args: readonly string[]
      readonly flags: Readonly<Record<string, unknown>>
    }

interface TypedFlag {
  readonly name: string
  /** As it was typed, with its dashes. */
  readonly rawName: string
  readonly value: string | undefined
  readonly isInline: boolean
}

const SHORT: Readonly<Record<string, string>> = { help: 'h', version: 'V', yes: 'y' }
const GLOBAL_FLAGS: Flags = { help: HELP, version: VERSION }

/** Parses a command line. Flags may stand before, between and after the words of a command. */
export function parse(argv: readonly string[], now: number): Parsed {
  const { words, typed } = split(argv)
  const asksHelp = words[0] === 'help' || typed.some(({ name }) => name === 'help')
  const [first, ...rest] = words[0] === 'help' ? words.slice(1) : words
  if (typed.some(({ name }) => name === 'version') && first === undefined) return { kind: 'version' }
  if (first === undefined && (asksHelp || typed.length === 0)) return { kind: 'help', of: '' }
  const [command, args] = findCommand(first, rest, asksHelp)
  if (typeof command === 'string') return { kind: 'help', of: command }
  if (asksHelp) return { kind: 'help', of: command.name }
  const flags = readFlags(command, typed, now)
  checkArguments(command, args)
  return { kind: 'run', command, args, flags }
}

function split(argv: readonly string[]): { readonly words: string[]; readonly typed: TypedFlag[] } {
  const { tokens } = parseArgs({ args: [...argv], options: everyOption(), strict: false, tokens: true })
  const words: string[] = []
  const typed: TypedFlag[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    typed.push({ name, rawName, value, isInline: token.inlineValue === true })
  }
  return { words, typed }
}

/** A flag has the same type in every command, so the parser can read flags before it knows the command. */
function everyOption() {
  const flags = Object.assign({}, GLOBAL_FLAGS, ...COMMANDS.map(command => command.flags)) as Flags
  return Object.fromEntries(
    Object.entries(flags).map(([name, { placeholder }]) => {
      const type = placeholder === undefined ? ('boolean' as const) : ('string' as const)
      const short = SHORT[name]
      return [name, short === undefined ? { type } : { type, short }]
    }),
  )
}

/** The command and its arguments, or the name of a family if help is requested for it. */
function findCommand(
  first: string | undefined,
  rest: readonly string[],
  asksHelp: boolean,
): readonly [Command | string, readonly string[]] {
  if (first === undefined) throw new UsageError("no command given; run 'lazaret --help' for the list")
  const single = COMMANDS.find(({ name }) => name === first)
  if (single !== undefined) return [single, rest]
  const family = COMMANDS.filter(({ name }) => name.startsWith(`${first} `))
  if (family.length === 0) throw new UsageError(unknownVerb(first))
  const verbs = family.map(({ name }) => name.slice(first.length + 1))
  const [second, ...args] = rest
  if (second === undefined && asksHelp) return [first, []]
  if (second === undefined)
    throw new UsageError(`${first}: no subcommand given; use one of ${verbs.join(', ')}`)
  const found = family.find(({ name }) => name === `${first} ${second}`)
  if (found !== undefined) return [found, args]
  const near = suggest(second, verbs)
  throw new UsageError(
    `unknown command '${first} ${second}'; ${near === undefined ? `use one of ${verbs.join(', ')}` : `did you mean '${first} ${near}'?`}`,
  )
}

function unknownVerb(typed: string): string {
  const families = [...new Set(COMMANDS.map(({ name }) => name.split(' ')[0]!))]
  const verbs = COMMANDS.map(({ name }) => name.split(' ')[1] ?? '')
  const verb = suggest(typed, verbs)
  // `list` alone most likely means the dead letters, which come first.
  const near = suggest(typed, families) ?? COMMANDS.find(({ name }) => name.endsWith(` ${verb}`))?.name
  return near === undefined
    ? `unknown command '${typed}'; run 'lazaret --help' for the list`
    : `unknown command '${typed}'; did you mean '${near}'?`
}

function readFlags(
  { name: verb, flags }: Command,
  typed: readonly TypedFlag[],
  now: number,
): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {}
  for (const each of typed) {
    const flag = Object.hasOwn(flags, each.name) ? flags[each.name] : undefined
    if (flag === undefined) throw new UsageError(`${verb}: ${unknownFlag(each.rawName, flags)}`)
    if (Object.hasOwn(values, each.name))
      throw new UsageError(`${verb}: ${each.rawName} appears twice; give it once`)
    values[each.name] = readFlag(verb, each, flag, now)
  }
  return values
}

function unknownFlag(rawName: string, flags: Flags): string {
  const near = suggest(rawName.replace(/^-+/, ''), Object.keys(flags))
  return near === undefined
    ? `unknown flag ${rawName}; --help lists all flags`
    : `unknown flag ${rawName}; did you mean '--${near}'?`
}

function readFlag(
  verb: string,
  { rawName, value, isInline }: TypedFlag,
  flag: Flag<unknown>,
  now: number,
): unknown {
  if (flag.placeholder === undefined) {
    if (value === undefined) return true
    throw new UsageError(`${verb}: ${rawName} takes no value; remove '=${value}'`)
  }
  // A flag is not accepted as the value of another flag. Write --search=--json to pass such a text.
  if (value === undefined || (!isInline && /^--?[a-zA-Z]/.test(value)))
    throw new UsageError(`${verb}: ${rawName} needs a value: ${rawName} ${flag.placeholder}`)
  try {
    return flag.read(value, now)
  } catch (error) {
    if (!(error instanceof FlagValueError)) throw error
    throw new UsageError(`${verb}: invalid ${rawName} ${JSON.stringify(value)}; ${error.message}`)
  }
}

function checkArguments(command: Command, args: readonly string[]): void {
  const { name, arguments: expected } = command
  const { placeholder, min, max } = expected ?? { placeholder: '', min: 0, max: 0 }
  if (args.length < min)
    throw new UsageError(
      `${name}: ${/^[A-Z]+/.exec(placeholder)?.[0] ?? 'argument'} is missing; usage: lazaret ${name} ${placeholder}`,
    )
  if (args.length > max)
    throw new UsageError(
      `${name}: unexpected argument ${JSON.stringify(args[max])}; ${max === 0 ? `${name} takes only flags` : `usage: lazaret ${name} ${placeholder}`}`,
    )
}
