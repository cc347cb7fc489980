import { parseConfig } from './config.ts'
import { ConfigError } from './config-error.ts'
import { inOrder } from './locate.ts'
import { parseServiceConfig } from './policies/read-file.ts'
import type { Env } from './substitute.ts'

/** Checks a whole config file: the settings of the server and the sections for services. Throws with all faults. */
export function checkConfig(text: string, file: string, env: Env): void {
  const parsers = [parseConfig, parseServiceConfig]
  const errors = parsers.flatMap(parse => {
    try {
      parse(text, file, env)
      return []
    } catch (error) {
      if (error instanceof ConfigError) return error
      throw error
    }
  })
  if (errors.length > 0) throw new ConfigError(file, inOrder(errors.flatMap(({ faults }) => faults)))
}
