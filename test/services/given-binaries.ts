import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Servers of which the environment can name a folder of programs, as LAZARET_TEST_REDIS_BINARIES does. */
export type GivenServer = 'RABBITMQ' | 'REDIS' | 'POSTGRES' | 'NATS'

export function binariesVariable(server: GivenServer): string {
  return `LAZARET_TEST_${server}_BINARIES`
}

/** Undefined if the environment names no folder. Tests start, stop and kill such a server as they do Debian's. */
export function givenBinary(server: GivenServer, program: string): string | undefined {
  const variable = binariesVariable(server)
  const folder = process.env[variable]
  if (folder === undefined || folder === '') return undefined
  const binary = join(folder, program)
  if (!existsSync(binary)) throw new Error(`${variable}: ${folder} has no ${program}`)
  return binary
}
