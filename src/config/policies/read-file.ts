import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isPlainObject } from '../../core/event/plain.ts'
import { Faults } from '../../core/options/faults.ts'
import { nearest } from '../../core/options/nearest.ts'
import { unusable } from '../../core/options/unusable.ts'
import { isPromiseLike } from '../../core/promise-like.ts'
import type { StandardSchema } from '../../ports/schema.ts'
import { ConfigError } from '../config-error.ts'
import { inOrder, locate, locateFault } from '../locate.ts'
import { readObject } from '../object-source.ts'
import { isServiceSection, SERVICE_SECTIONS, SETTING_NAMES } from '../setting-names.ts'
import type { Env } from '../substitute.ts'
import { type ConfigSource, type LocatedFault, readYaml } from '../yaml-source.ts'
import { type PolicySet, readPolicies } from './policy-set.ts'
import { policiesForm } from './rules.ts'
import { withVariables } from './variables.ts'

const DEFAULT_FILE = 'lazaret.yaml'
const POLICIES: readonly string[] = ['policies']

/** What a service reads of its config file. */
export interface ServiceConfig<S> {
  readonly policies: PolicySet
  readonly service: S
  /** The source has no section, or none with a value: a file with comments alone, or one that is being written. */
  readonly isEmpty: boolean
}

export function fileNameOf(given: string | URL | undefined): string {
  return given instanceof URL ? fileURLToPath(given) : (given ?? DEFAULT_FILE)
}

/** The text of a file with policies. `name` is the one for errors. */
export function readFile(path: string, name: string, mayBeMissing: boolean): string {
  if (mayBeMissing && !existsSync(path)) return ''
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const problem =
      code === 'ENOENT'
        ? 'config file not found; give the path of an existing file'
        : `cannot be read (${code}); check that it is a file and that you may read it`
    throw new ConfigError(name, problem, error)
  }
}

/** Reads the sections for services of a config file. Throws with all faults. */
export function parseServiceConfig<S>(
  text: string,
  file: string,
  env: Env,
  schema?: StandardSchema<S>,
): ServiceConfig<S> {
  const source = readYaml(text, env, isServiceSection)
  return read(source, file, env, schema)
}

/** The same for the section `policies` as an object. */
export function readPolicyObject<S>(
  policies: object,
  env: Env,
  schema?: StandardSchema<S>,
): ServiceConfig<S> {
  return read(readObject({ policies }, env), 'policies', env, schema)
}

function read<S>(
  from: ConfigSource,
  file: string,
  env: Env,
  schema: StandardSchema<S> | undefined,
): ServiceConfig<S> {
  if (!isPlainObject(from.value ?? {}))
    throw new ConfigError(file, inOrder([...from.faults, ...notAMap(from)]))
  const source = withVariables(from, POLICIES, policiesForm, env)
  const root = (source.value ?? {}) as Readonly<Record<string, unknown>>
  const { set, faults } = readPolicies(root['policies'], POLICIES, source)
  const service = readService(root['service'], schema, source)
  const all = inOrder([...source.faults, ...unknownKeys(root, source), ...faults, ...service.faults])
  if (all.length > 0) throw new ConfigError(file, all)
  return { policies: set, service: service.value as S, isEmpty: isEmpty(from.value) }
}

function isEmpty(root: unknown): boolean {
  return Object.values(root ?? {}).every(section => section === null || section === undefined)
}

function notAMap(source: ConfigSource): readonly LocatedFault[] {
  const faults = new Faults()
  faults.add(
    '',
    source.value,
    `give a plain object with ${[...SETTING_NAMES, ...SERVICE_SECTIONS].join(', ')}`,
  )
  return locate(faults, '', source)
}

/** `lazaret serve` checks the values of the other known keys; a name that nobody reads is a fault here too. */
function unknownKeys(root: object, source: ConfigSource): readonly LocatedFault[] {
  const known = [...SERVICE_SECTIONS, ...SETTING_NAMES]
  return Object.keys(root)
    .filter(key => !(known as readonly string[]).includes(key))
    .map(key => {
      const near = nearest(key, known)
      const remedy = near
        ? `did you mean '${near}'?`
        : "write policies below 'policies', and settings of your own below 'service'"
      return { line: source.lineOf([key]), path: key, received: 'an unknown key', remedy }
    })
}

function readService(
  given: unknown,
  schema: StandardSchema<unknown> | undefined,
  source: ConfigSource,
): { readonly value: unknown; readonly faults: readonly LocatedFault[] } {
  if (schema === undefined) return { value: given, faults: [] }
  const result = schema['~standard'].validate(given ?? {})
  if (isPromiseLike(result))
    throw unusable('loadPolicies: the schema of `service`', result, 'give a schema that is not async')
  if (result.issues === undefined) return { value: result.value, faults: [] }
  const faults = result.issues.map(({ message, path = [] }) => {
    const keys = path.map(step => String(typeof step === 'object' ? step.key : step))
    const steps = ['service', ...keys]
    // The value may be a password.
    const fault = { received: 'a hidden value', remedy: message }
    return locateFault(fault, steps.join('.'), steps, source)
  })
  return { value: undefined, faults: faults.filter(fault => fault !== undefined) }
}
