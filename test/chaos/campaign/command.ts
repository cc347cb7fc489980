import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { whole } from './arguments.ts'

/** The output of a campaign: the lines of its report, and the promises that it found broken. */
export interface CampaignOutput {
  readonly report: readonly string[]
  readonly violations: readonly string[]
}

type Flags<N extends string> = Readonly<Record<N, number>> & { readonly [other: string]: unknown }

export interface CampaignCommand<N extends string> {
  /** Such as `chaos:redis`. */
  readonly name: string
  /** Options that are numbers, and their defaults. */
  readonly numbers: Readonly<Record<N, number>>
  /** Options that are not. */
  readonly others?: ParseArgsOptionsConfig | undefined
  /** Words that choose parts of the campaign, all unless some are given. */
  readonly words?: readonly string[] | undefined
  readonly run: (flags: Flags<N>, words: readonly string[]) => Promise<CampaignOutput>
}

/** Progress goes to stderr, so that stdout has only the report. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** A campaign on the command line. Exit code 1: a promise is broken. Exit code 2: the campaign could not run. */
export async function runAsCommand<N extends string>(command: CampaignCommand<N>): Promise<void> {
  try {
    const { flags, words } = readArguments(command)
    const { report, violations } = await command.run(flags, words)
    for (const line of report) process.stdout.write(`${line}\n`)
    for (const violation of violations) process.stdout.write(`VIOLATION: ${violation}\n`)
    if (violations.length > 0) process.exitCode = 1
  } catch (error) {
    process.stderr.write(
      `${command.name}: ${error instanceof Error ? error.message : error}; ${usageOf(command)}\n`,
    )
    process.exitCode = 2
  }
}

/** A server that the campaign may kill, for as long as it runs. */
export async function withPrivateServer<S extends { close(): Promise<unknown> }, T>(
  kind: string,
  found:
    | { readonly found: false }
    | { readonly found: true; readonly isPrivate: boolean; start(): Promise<S> },
  work: (server: S) => Promise<T>,
): Promise<T> {
  if (!found.found || !found.isPrivate)
    throw new Error(
      `the campaign kills its ${kind} server, so it needs a private one; install it and unset LAZARET_TEST_${kind === 'RabbitMQ' ? 'AMQP' : kind.toUpperCase()}_URL`,
    )
  const server = await found.start()
  try {
    return await work(server)
  } finally {
    await server.close()
  }
}

function readArguments<N extends string>({
  numbers,
  others = {},
  words = [],
}: CampaignCommand<N>): {
  readonly flags: Flags<N>
  readonly words: readonly string[]
} {
  const names = Object.keys(numbers) as N[]
  const options: ParseArgsOptionsConfig = { ...others }
  for (const name of names) options[name] = { type: 'string', default: String(numbers[name]) }
  const { values, positionals } = parseArgs({ options, allowPositionals: words.length > 0 })
  const unknown = positionals.find(word => !words.includes(word))
  if (unknown !== undefined) throw new Error(`'${unknown}' is not one of ${words.join(', ')}`)
  const read = names.map(name => [name, whole(String(values[name]))])
  const flags: Flags<N> = { ...values, ...Object.fromEntries(read) }
  return { flags, words: positionals.length > 0 ? positionals : words }
}

function usageOf<N extends string>({ name, numbers, others = {}, words = [] }: CampaignCommand<N>): string {
  const parts = words.length > 0 ? [`[${words.join('|')} …]`] : []
  const values = Object.entries<number>(numbers).map(([flag, value]) => `[--${flag} ${value}]`)
  const rest = Object.entries(others).map(([flag, { type, default: value }]) =>
    type === 'boolean' ? `[--${flag}]` : `[--${flag} ${value}]`,
  )
  return `usage: npm run ${name} -- ${[...parts, ...values, ...rest].join(' ')}`
}
