import type { StandardSchema } from '../../ports/schema.ts'
import { LoadedPolicies } from './loaded-policies.ts'
import type { Policies } from './policies.ts'
import { PolicyFile } from './policy-file.ts'
import { readPolicyObject } from './read-file.ts'

/** Options of `loadPolicies()`. */
export interface LoadPoliciesOptions<S = unknown> {
  /**
   * The variables for `${NAME}`, and for `LAZARET_POLICIES__…`, which take precedence over the file [the environment of the
   * process].
   */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /**
   * Checks the section `service` of the file, which holds settings of your own, such as URLs: any Standard Schema [none: the
   * section is not checked]. Its faults are reported together with those of the policies.
   */
  readonly service?: StandardSchema<S> | undefined
}

/**
 * Loads the policies of a service from the section `policies` of a config file [`lazaret.yaml`, if it exists], or from an
 * object with the content of that section. Throws a `ConfigError` with all faults.
 */
export function loadPolicies<S = unknown>(
  source?: string | URL | object,
  options: LoadPoliciesOptions<S> = {},
): Policies<S> {
  const { env = process.env, service } = options
  if (typeof source === 'object' && !(source instanceof URL))
    return new LoadedPolicies(readPolicyObject(source, env, service))
  const file = new PolicyFile(source, env, service)
  return new LoadedPolicies(file.read(), file)
}
