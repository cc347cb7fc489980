import { Faults } from '../core/options/faults.ts'
import { ConfigError } from './config-error.ts'
import { type Settings, settingsRule } from './schema.ts'
import type { Env } from './substitute.ts'
import { type LocatedFault, readYaml, type YamlSource } from './yaml-source.ts'

export type Config = Settings

const SECRET_PATHS =
  /^(?:sealing\.keys|server\.tokens)(?:[.[]|$)|^collectors\.[^.]*\.(?:url|management)$|^notify\.targets\.[^.]*\.(?:url|routingKey|secret|dsn)$/

/** The config without a config file. */
export const DEFAULT_CONFIG: Config = settingsRule.read(undefined, 'config', new Faults())

/** Reads the text of a config file. `file` names it in errors. */
export function parseConfig(text: string, file: string, env: Env): Config {
  const source = readYaml(text, env)
  const faults = new Faults()
  const config = settingsRule.read(source.value, 'config', faults)
  const all = [...source.faults, ...locate(faults, source)].sort((a, b) => a.line - b.line)
  if (all.length > 0) throw new ConfigError(file, all)
  return config
}

function locate(faults: Faults, source: YamlSource): readonly LocatedFault[] {
  return faults.list.flatMap(({ path, received, remedy }) => {
    const place = path.replace(/^config\.?/, '')
    const steps = stepsOf(place)
    const origin = source.originOf(steps)
    // The missing variable is reported already.
    if (origin === 'missing') return []
    // A value from the environment may be a secret that landed in the wrong place.
    const isHidden = origin === 'environment' || SECRET_PATHS.test(place)
    return {
      line: source.lineOf(steps),
      path: place === '' ? 'the file' : place,
      received: isHidden ? 'a hidden value' : received,
      remedy,
    }
  })
}

/** `masks.paths[2]` is masks, paths, 2. */
function stepsOf(path: string): readonly string[] {
  return [...path.matchAll(/[^.[\]]+/g)].map(([step]) => step)
}
