import type { LazaretError } from '../../core/failure/errors.ts'
import type { ConsumerOptions } from '../../runtime/consumer/consumer-options.ts'
import type { DispatcherOptions } from '../../runtime/dispatcher/dispatcher-options.ts'
import type { LaneOptions } from '../../runtime/dispatcher/lane/lane-options.ts'
import type { ResilientOptions } from '../../runtime/resilient/resilient-options.ts'

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
  /**
   * Reads the file and the variables again. Running consumers, dispatchers and protected functions take over what can change
   * while they run. With a fault it throws a `ConfigError`, and everything stays as it was.
   */
  reload(): PolicyReload
  /** Reloads when the file changes, or when the process gets a signal, until it is closed. */
  watch(options?: WatchPoliciesOptions): PolicyWatch
}

/** The result of a reload. The paths are those of the file, such as `channels.orders.retry`. */
export interface PolicyReload {
  /** The changed options that running parts use from now on. */
  readonly applied: readonly string[]
  /** The options in which the file differs from a running part, and which need a restart. */
  readonly needsRestart: readonly string[]
}

/** Options of `policies.watch()`. */
export interface WatchPoliciesOptions {
  /** Reloads when the file is written or replaced [true]. */
  readonly file?: boolean | undefined
  /** Reloads when the process gets this signal [none]. */
  readonly signal?: 'SIGHUP' | 'SIGUSR2' | undefined
  /** Gets what each reload has changed [nobody]. */
  readonly onReload?: ((reload: PolicyReload) => void) | undefined
  /** Gets the error of a file with faults, which changes nothing [a warning of the process]. */
  readonly onError?: ((error: LazaretError) => void) | undefined
}

/** Policies that are watched. */
export interface PolicyWatch {
  /** Ends the watch. The policies stay as they are. Closing twice is safe. */
  close(): void
}
