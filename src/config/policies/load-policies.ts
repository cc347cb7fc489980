import type { StandardSchema } from '../../ports/schema.ts'
import type { ConsumerOptions } from '../../runtime/consumer/consumer-options.ts'
import type { DispatcherOptions } from '../../runtime/dispatcher/dispatcher-options.ts'
import type { LaneOptions } from '../../runtime/dispatcher/lane/lane-options.ts'
import type { ResilientOptions } from '../../runtime/resilient/resilient-options.ts'
import type { Env } from '../substitute.ts'
import { parseServiceConfig, readFile, readPolicyObject, type ServiceConfig } from './read-file.ts'

/** Options that only code can give. */
type OnlyInCode =
  | 'broker'
  | 'clock'
  | 'deadLetters'
  | 'handle'
  | 'journal'
  | 'leaveOpen'
  | 'ledger'
  | 'notifier'
  | 'observer'
  | 'overrides'
  | 'passContext'
  | 'random'
  | 'schema'
  | 'sinks'
  | 'spill'
  | 'tracing'

/** The options of a consumer that a file can set, and its channel. */
export type ConsumerPolicies = Omit<ConsumerOptions, OnlyInCode>
/** The options of a dispatcher that a file can set. */
export type DispatcherPolicies = Omit<DispatcherOptions, OnlyInCode> & {
  readonly overrides: Readonly<Record<string, LaneOptions>>
}
/** The options of a protected call that a file can set, and its name. */
export type CallPolicies = Omit<ResilientOptions, OnlyInCode>

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

/** Policies from a file, an object or the environment. Its methods return options to spread. */
export interface Policies<S = unknown> {
  /** Options for `createConsumer()`, `createRelay()` and `withDeadLetters()`. A handler has those of its channel under its own. */
  consumer(channel: string, handler?: string): ConsumerPolicies
  /** Options for `createDispatcher()`. `overrides` has the options of every sink in the file. */
  dispatcher(): DispatcherPolicies
  /** All options of one sink: those of the dispatcher that apply to every sink, and its own over them. */
  sink(name: string): LaneOptions
  /** Options for `resilient()`. */
  call(name: string): CallPolicies
  /** The section `service` of the file, as its schema returns it. */
  readonly service: S
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
  return new LoadedPolicies(load(source, env, service))
}

function load<S>(
  source: string | URL | object | undefined,
  env: Env,
  schema: StandardSchema<S> | undefined,
): ServiceConfig<S> {
  if (typeof source === 'object' && !(source instanceof URL)) return readPolicyObject(source, env, schema)
  const { file, text } = readFile(source)
  return parseServiceConfig(text, file, env, schema)
}

class LoadedPolicies<S> implements Policies<S> {
  readonly #config: ServiceConfig<S>

  constructor(config: ServiceConfig<S>) {
    this.#config = config
  }

  get service(): S {
    return this.#config.service
  }

  consumer(channel: string, handler?: string): ConsumerPolicies {
    const name = handler === undefined ? {} : { name: handler }
    return { channel, ...name, ...this.#config.policies.consumer(channel, handler) }
  }

  dispatcher(): DispatcherPolicies {
    const { policies } = this.#config
    return { ...policies.dispatcher(), overrides: policies.sinks() as Readonly<Record<string, LaneOptions>> }
  }

  sink(name: string): LaneOptions {
    return this.#config.policies.sink(name)
  }

  call(name: string): CallPolicies {
    return { name, ...this.#config.policies.call(name) }
  }
}
