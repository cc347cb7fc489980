import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ROOT } from './source.ts'

const run = promisify(execFile)

/** Makes every `import` and `require` of the package fail as Node fails when the package is not installed. */
const hide = (hidden: string) => `
  const { registerHooks } = await import('node:module')
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== ${JSON.stringify(hidden)}) return next(specifier, context)
      throw Object.assign(new Error('Cannot find package ' + specifier), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })`

/** What a process prints that runs the code in the root of the project, where the package is not installed. */
export async function outputWithout(hidden: string, code: string): Promise<string> {
  const { stdout } = await run(
    process.execPath,
    ['--input-type=module', '--eval', `${hide(hidden)}\n${code}`],
    {
      cwd: ROOT,
    },
  )
  return stdout.trim()
}
