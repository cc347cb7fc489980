import { createRequire } from 'node:module'
import { requireClient } from '../../adapter-kit/load-client.ts'
import type { Consumer } from '../../runtime/consumer/consumer.ts'
import { createDispatcher, type Dispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { LazaretConsumers, type NestConsumerOptions } from './consumers.ts'
import { LazaretHealthIndicator } from './health.ts'
import { type Discovery, LazaretLifecycle } from './lifecycle.ts'
import {
  type LazaretModuleAsyncOptions,
  type LazaretModuleOptions,
  type NestSettings,
  resolveModule,
} from './options.ts'
import { consumerToken, LAZARET_DISPATCHER, LAZARET_OPTIONS } from './tokens.ts'

const require = createRequire(import.meta.url)

// biome-ignore lint/suspicious/noExplicitAny: as `Type` of Nest has it
type NestClass = new (...args: any[]) => object

/** A dynamic module of Nest. Its type is spelt out here, so that the types of this entry need no package. */
export interface NestModule {
  readonly module: NestClass
  readonly global: boolean
  // biome-ignore lint/suspicious/noExplicitAny: Nest accepts many kinds of modules, and checks them itself
  readonly imports: any[]
  // biome-ignore lint/suspicious/noExplicitAny: as `Provider` of Nest has it
  readonly providers: any[]
  // biome-ignore lint/suspicious/noExplicitAny: as the tokens of Nest are
  readonly exports: any[]
}

const SETTINGS = Symbol('lazaret settings')

/**
 * Lazaret as a module of Nest. It is global: every module of the application can inject `LazaretConsumers`,
 * `LAZARET_DISPATCHER` and `LazaretHealthIndicator`. Consumers start when the application has started, and drain first when
 * it ends. Call `app.enableShutdownHooks()`, or Nest runs no hook on SIGTERM.
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class
export class LazaretModule {
  static forRoot(options: LazaretModuleOptions): NestModule {
    return moduleWith([], { provide: LAZARET_OPTIONS, useValue: options })
  }

  /** The same with options that need other providers, such as a configuration service. */
  static forRootAsync({ imports = [], inject = [], useFactory }: LazaretModuleAsyncOptions): NestModule {
    return moduleWith(imports, { provide: LAZARET_OPTIONS, inject: [...inject], useFactory })
  }
}

function moduleWith(imports: readonly unknown[], optionsProvider: object): NestModule {
  const { DiscoveryModule, DiscoveryService } = requireClient<{
    DiscoveryModule: unknown
    DiscoveryService: unknown
  }>('@nestjs/core', () => require('@nestjs/core'))
  const shared = [SETTINGS, LazaretConsumers, LAZARET_DISPATCHER]
  return {
    module: LazaretModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [
      optionsProvider,
      { provide: SETTINGS, inject: [LAZARET_OPTIONS], useFactory: resolveModule },
      {
        provide: LazaretConsumers,
        inject: [SETTINGS],
        useFactory: (settings: NestSettings) => new LazaretConsumers(settings),
      },
      { provide: LAZARET_DISPATCHER, inject: [SETTINGS], useFactory: dispatcherOf },
      {
        provide: LazaretHealthIndicator,
        inject: shared,
        useFactory: (settings: NestSettings, consumers: LazaretConsumers, dispatcher?: Dispatcher<string>) =>
          new LazaretHealthIndicator(settings, consumers, dispatcher),
      },
      {
        provide: LazaretLifecycle,
        inject: [...shared, DiscoveryService],
        useFactory: (
          settings: NestSettings,
          consumers: LazaretConsumers,
          dispatcher: Dispatcher<string> | undefined,
          discovery: Discovery,
        ) => new LazaretLifecycle(settings, discovery, consumers, dispatcher),
      },
    ],
    exports: [LAZARET_OPTIONS, LazaretConsumers, LAZARET_DISPATCHER, LazaretHealthIndicator],
  }
}

function dispatcherOf({ dispatcher, deadLetters, leaveOpen }: NestSettings): Dispatcher<string> | undefined {
  if (dispatcher === undefined) return undefined
  // The fault of a dispatcher without dead letters names the option.
  return createDispatcher({ deadLetters: deadLetters!, leaveOpen, ...dispatcher })
}

/** A provider of a consumer, made by a factory with injected services. */
export interface ConsumerProvider<P = unknown> {
  /** The channel to take events from. */
  readonly channel: string
  /** Names the handler; every name gets every event of the channel once [the channel's name]. */
  readonly name?: string | undefined
  /** Tokens of the providers that `useFactory` gets as arguments [none]. */
  readonly inject?: readonly unknown[] | undefined
  /** Returns the handler and the other options of the consumer. */
  // biome-ignore lint/suspicious/noExplicitAny: Nest injects the arguments that the caller asked for
  readonly useFactory: (...args: any[]) => Omit<NestConsumerOptions<P>, 'channel' | 'name'>
}

/**
 * A consumer as a provider, without decorators. `consumerToken(channel, name)` injects it, and it starts and drains with
 * the application.
 */
export function provideConsumer<P = unknown>({
  channel,
  name,
  inject = [],
  useFactory,
}: ConsumerProvider<P>): {
  readonly provide: string
  // biome-ignore lint/suspicious/noExplicitAny: as the tokens of Nest are
  readonly inject: any[]
  // biome-ignore lint/suspicious/noExplicitAny: Nest injects the arguments that the caller asked for
  readonly useFactory: (consumers: LazaretConsumers, ...args: any[]) => Consumer
} {
  return {
    provide: consumerToken(channel, name),
    inject: [LazaretConsumers, ...inject],
    useFactory: (consumers, ...args) => consumers.create({ ...useFactory(...args), channel, name }),
  }
}
