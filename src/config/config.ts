import { Faults } from '../core/options/faults.ts'
import { ConfigError } from './config-error.ts'
import { inOrder, locate } from './locate.ts'
import { type Settings, settingsRule } from './schema.ts'
import { isServiceSection } from './setting-names.ts'
import type { Env } from './substitute.ts'
import { readYaml } from './yaml-source.ts'

export type Config = Settings

/** The config without a config file. */
export const DEFAULT_CONFIG: Config = settingsRule.read(undefined, 'config', new Faults())

/**
 * Reads the text of a config file. `file` names it in errors. The sections for services are not read: they may need
 * variables that only the services have.
 */
export function parseConfig(text: string, file: string, env: Env): Config {
  const source = readYaml(text, env, key => !isServiceSection(key))
  const faults = new Faults()
  const config = settingsRule.read(source.value, 'config', faults)
  const all = inOrder([...source.faults, ...locate(faults, 'config', source)])
  if (all.length > 0) throw new ConfigError(file, all)
  return config
}
