import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { custom, flag, integer, optional, withDefault } from '../../core/options/rules.ts'
import type { Broker } from '../../ports/broker.ts'
import type { DeadLetterQueue, DeadLetterStore } from '../../ports/dead-letters.ts'
import type { ConsumerOptions } from '../../runtime/consumer/consumer-options.ts'
import { DEFAULT_DEGRADED_AT } from '../../runtime/consumer/health.ts'
import type { DispatcherOptions } from '../../runtime/dispatcher/dispatcher-options.ts'
import { deadLettersRule, port } from '../../runtime/option-rules.ts'
import type { ResilientOptions } from '../../runtime/resilient/resilient-options.ts'

/** What the module needs of a store: that of `openPostgres`, `openSqlite` or `openRedis`, for example. */
export interface NestStore {
  readonly broker?: Broker | undefined
  readonly deadLetters: DeadLetterStore
  close(): Promise<void>
}

/** Options that every consumer of the application has, unless its own options say otherwise. */
export type NestConsumerDefaults = Partial<
  Omit<ConsumerOptions, 'broker' | 'channel' | 'handle' | 'name' | 'schema' | 'leaveOpen' | 'deadLetters'>
>

/** Options that every method with `@Protect` has, unless its decorator says otherwise. */
export type NestProtectDefaults = Omit<ResilientOptions, 'name'>

/** Options of `LazaretModule.forRoot()`. */
export interface LazaretModuleOptions {
  /** Gives the broker and the dead letters in one [none: give `broker` and `deadLetters`]. The module closes it. */
  readonly store?: NestStore | undefined
  /** The broker of all consumers [the broker of `store`]. The module closes it. */
  readonly broker?: Broker | undefined
  /** Where events go that consumers and the dispatcher give up on [the letters of `store`, else the broker's own queue]. */
  readonly deadLetters?: DeadLetterQueue | DeadLetterStore | undefined
  /** Options for every consumer, such as `retry`, `observer` and `graceMs` [none]. A consumer's own options win. */
  readonly consumers?: NestConsumerDefaults | undefined
  /** Options for every method with `@Protect`, such as `retry`, `timeoutMs` and `observer` [none]. The decorator's own options win. */
  readonly protect?: NestProtectDefaults | undefined
  /** Makes the dispatcher that `LAZARET_DISPATCHER` injects [none]. Its dead letters are those of the module. */
  readonly dispatcher?:
    | (Omit<DispatcherOptions, 'deadLetters'> & Partial<Pick<DispatcherOptions, 'deadLetters'>>)
    | undefined
  /** Whether consumers start when the application has started [true]. With `false` call `start()` of each yourself. */
  readonly autoStart?: boolean | undefined
  /** The health indicator is `degraded` with more dead letters than this [100]. */
  readonly degradedAt?: number | undefined
  /** Whether store, broker and dead letters stay open when the application ends [false]. */
  readonly leaveOpen?: boolean | undefined
}

/** Options of `LazaretModule.forRootAsync()`. */
export interface LazaretModuleAsyncOptions {
  /** Modules whose providers `useFactory` needs [none]. */
  readonly imports?: readonly unknown[] | undefined
  /** Tokens of the providers that `useFactory` gets as arguments [none]. */
  readonly inject?: readonly unknown[] | undefined
  /** Returns the options of the module, or a promise of them. */
  // biome-ignore lint/suspicious/noExplicitAny: Nest injects the arguments that the caller asked for
  readonly useFactory: (...args: any[]) => LazaretModuleOptions | Promise<LazaretModuleOptions>
}

const rules = {
  store: optional(
    custom(isStore, 'give a store with deadLetters and close(), such as openPostgres({ url })'),
  ),
  broker: optional(port<Broker>('a broker', 'publish', 'subscribe', 'close')),
  deadLetters: optional(deadLettersRule),
  consumers: withDefault(custom(isRecord<NestConsumerDefaults>, 'give options of createConsumer'), {}),
  protect: withDefault(custom(isRecord<NestProtectDefaults>, 'give options of resilient'), {}),
  dispatcher: optional(
    custom(
      isRecord<NonNullable<LazaretModuleOptions['dispatcher']>>,
      'give options of createDispatcher, such as { sinks }',
    ),
  ),
  autoStart: withDefault(flag(), true),
  degradedAt: withDefault(integer({ min: 0 }), DEFAULT_DEGRADED_AT),
  leaveOpen: withDefault(flag(), false),
}

/** The options of the module with its broker and dead letters found. */
export interface NestSettings extends Omit<Resolved<typeof rules>, 'broker' | 'deadLetters'> {
  readonly broker: Broker | undefined
  readonly deadLetters: DeadLetterQueue | DeadLetterStore | undefined
}

export function resolveModule(options: LazaretModuleOptions): NestSettings {
  const given = resolveOptions('LazaretModule', rules, options)
  return {
    ...given,
    broker: given.broker ?? given.store?.broker,
    deadLetters: given.deadLetters ?? given.store?.deadLetters,
  }
}

function isRecord<T>(value: unknown): value is T {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isStore(value: unknown): value is NestStore {
  const store = value as Partial<NestStore> | null
  return typeof store?.deadLetters?.send === 'function' && typeof store.close === 'function'
}
