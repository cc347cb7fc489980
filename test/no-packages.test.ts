import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ROOT } from './support/source.ts'

const run = promisify(execFile)

/** Prints the packages that a process has loaded after each step, and the pattern of a schedule that it then starts. */
const PROGRAM = `
  const { registerHooks } = await import('node:module')
  const packages = new Set()
  registerHooks({
    load(url, context, next) {
      const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
      if (name !== undefined) packages.add(name)
      return next(url, context)
    },
  })
  const { memoryStore, startHousekeeping } = { ...await import('./src/index.ts'), ...await import('./src/adapters/memory/index.ts') }
  const atImport = [...packages]
  const schedule = startHousekeeping({ store: memoryStore(), cron: '0 3 * * *' })
  await schedule.close()
  console.log(JSON.stringify({ atImport, withSchedule: [...packages] }))`

it('"no dependency for core": importing lazaret loads no package, and a schedule loads croner', async () => {
  const { stdout } = await run(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', PROGRAM],
    {
      cwd: ROOT,
    },
  )
  expect(JSON.parse(stdout)).toEqual({ atImport: [], withSchedule: ['croner'] })
})
