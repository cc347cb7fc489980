import { createRequire, isBuiltin } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionsError } from '../../core/options/faults.ts'
import type { Dispatcher } from '../../runtime/dispatcher/dispatcher.ts'

interface ModuleChoice {
  readonly module: string
  readonly export: string | undefined
}

const EXPORTS = ['events', 'default'] as const

/** Imports the user's module and finds the dispatcher it exports. */
export async function loadTracker(choice: ModuleChoice): Promise<Dispatcher> {
  const exported = await importModule(choice.module)
  const names = choice.export === undefined ? EXPORTS : [choice.export]
  const found = names.map(name => exported[name]).find(isDispatcher)
  if (found !== undefined) return found
  const remedy = `export the result of createDispatcher() as ${names.map(name => `'${name}'`).join(' or ')}`
  throw fault(choice.module, remedy)
}

async function importModule(module: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(urlOf(module))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw fault(module, `name a module that can be imported: a file URL, a path, or a package (${why})`)
  }
}

/** A path is seen from where the process runs, as a package is. */
function urlOf(module: string): string {
  if (module.startsWith('file:') || isBuiltin(module)) return module
  if (module.startsWith('.') || isAbsolute(module)) return pathToFileURL(resolve(module)).href
  return pathToFileURL(createRequire(join(process.cwd(), 'package.json')).resolve(module)).href
}

function isDispatcher(value: unknown): value is Dispatcher {
  const { track, flush, close } = (value ?? {}) as Partial<Dispatcher>
  return [track, flush, close].every(method => typeof method === 'function')
}

function fault(module: string, remedy: string): OptionsError {
  return new OptionsError('lazaret/pino', [
    { path: 'lazaret/pino.module', received: JSON.stringify(module), remedy },
  ])
}
