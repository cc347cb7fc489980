import type { LaneOptions } from '../../runtime/dispatcher/lane/lane-options.ts'
import { type OptionValues, POLICY_SOURCE } from '../../runtime/reload/policy-source.ts'
import type {
  CallPolicies,
  ConsumerPolicies,
  DispatcherPolicies,
  Policies,
  PolicyReload,
  PolicyWatch,
  WatchPoliciesOptions,
} from './policies.ts'
import type { PolicyFile } from './policy-file.ts'
import type { PolicySet } from './policy-set.ts'
import type { ServiceConfig } from './read-file.ts'
import { RunningParts } from './running-parts.ts'
import { watchPolicies } from './watch-policies.ts'

/** The options carry their source, so that what is made of them hears about new ones. */
export class LoadedPolicies<S> implements Policies<S> {
  readonly #file: PolicyFile<S> | undefined
  readonly #parts = new RunningParts()
  #config: ServiceConfig<S>

  /** `file`: undefined for policies from an object. */
  constructor(config: ServiceConfig<S>, file?: PolicyFile<S>) {
    this.#config = config
    this.#file = file
  }

  get service(): S {
    return this.#config.service
  }

  consumer(channel: string, handler?: string): ConsumerPolicies {
    const name = handler === undefined ? {} : { name: handler }
    const path = handler === undefined ? `channels.${channel}` : `channels.${channel}.handlers.${handler}`
    return { channel, ...name, ...this.#options(path, set => set.consumer(channel, handler)) }
  }

  dispatcher(): DispatcherPolicies {
    const options = this.#options('dispatcher', set => ({ ...set.dispatcher(), overrides: set.sinks() }))
    return options as OptionValues & { readonly overrides: Readonly<Record<string, LaneOptions>> }
  }

  sink(name: string): LaneOptions {
    return this.#config.policies.sink(name)
  }

  call(name: string): CallPolicies {
    return { name, ...this.#options(`calls.${name}`, set => set.call(name)) }
  }

  reload(): PolicyReload {
    const file = this.#fileOf('reloaded')
    const config = file.read()
    const apply = this.#parts.prepare(config.policies, file.name)
    this.#config = config
    return apply()
  }

  watch(options: WatchPoliciesOptions = {}): PolicyWatch {
    return watchPolicies(this.#fileOf('watched'), () => this.reload(), options)
  }

  #options(path: string, optionsOf: (set: PolicySet) => OptionValues): OptionValues {
    const options = optionsOf(this.#config.policies)
    if (this.#file === undefined) return options
    return { ...options, [POLICY_SOURCE]: this.#parts.source({ path, optionsOf }, options) }
  }

  #fileOf(what: string): PolicyFile<S> {
    if (this.#file === undefined)
      throw new TypeError(`loadPolicies: policies from an object cannot be ${what}; give the path of a file`)
    return this.#file
  }
}
