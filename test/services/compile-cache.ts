import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../support/source.ts'

/**
 * Where Node keeps what it made of sources, for every process that tests start: hundreds of them load the same files,
 * and with it each starts in a third of the time. Node itself looks whether a source has changed.
 */
export const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/lazaret-tests')

/** For processes that are started with an environment of their own. */
export const COMPILE_CACHE_ENV = { NODE_COMPILE_CACHE: COMPILE_CACHE }

const DOORS = [
  'index.ts',
  'cli/run.ts',
  'demo/open-demo.ts',
  'server/index.ts',
  'testing/index.ts',
  ...['file', 'memory', 'postgres', 'rabbitmq', 'redis', 'sinks', 'sqlite'].map(
    name => `adapters/${name}/index.ts`,
  ),
].map(path => join(ROOT, 'src', path))

/** It is written when a process ends by itself, and many that tests start are killed. So one that is not goes first. */
export async function fillCompileCache(): Promise<void> {
  const imports = DOORS.map(path => `import ${JSON.stringify(path)}`).join('\n')
  const words = ['--no-warnings', '--input-type=module', '--eval', imports]
  await promisify(execFile)(process.execPath, words, { env: { ...process.env, ...COMPILE_CACHE_ENV } })
}
