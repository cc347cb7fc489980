import { withoutCredentials } from '../core/options/show.ts'
import { quoted } from '../server/views/command.ts'

/** The flags of a command that the next one needs too. */
interface RepeatedFlags {
  readonly store?: string | undefined
  readonly config?: string | undefined
  readonly by?: string | undefined
  readonly yes?: boolean | undefined
}

/** A command on one replay that a person can copy, with the flags of the command that prints it. */
export function commandLine(verb: string, id: string, { store, config, by, yes }: RepeatedFlags): string {
  const words = ['lazaret', ...verb.split(' '), id]
  // The password stays out of logs, so a person has to add it again.
  if (store !== undefined) words.push('--store', withoutCredentials(store))
  if (config !== undefined) words.push('--config', config)
  if (by !== undefined) words.push('--by', by)
  if (yes === true) words.push('--yes')
  return words.map(quoted).join(' ')
}
