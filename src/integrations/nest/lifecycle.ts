import type { Dispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import type { LazaretConsumers } from './consumers.ts'
import { consumedBy, wrappingOf } from './decorators.ts'
import type { NestSettings } from './options.ts'

/** What is needed of the DiscoveryService of Nest. */
export interface Discovery {
  getProviders(): readonly { readonly instance: unknown; isDependencyTreeStatic(): boolean }[]
  getControllers(): readonly { readonly instance: unknown; isDependencyTreeStatic(): boolean }[]
}

/**
 * Starts and drains with the application. Nest calls `onModuleInit` when every provider exists, `onApplicationBootstrap`
 * before it listens, `onModuleDestroy` while it still serves requests, and `onApplicationShutdown` when nothing calls the
 * providers any more. So consumers stop first, and the dispatcher and the stores close last.
 */
export class LazaretLifecycle {
  readonly #settings: NestSettings
  readonly #discovery: Discovery
  readonly #consumers: LazaretConsumers
  readonly #dispatcher: Dispatcher<string> | undefined
  readonly #handlers: { close(): Promise<void> }[] = []

  constructor(
    settings: NestSettings,
    discovery: Discovery,
    consumers: LazaretConsumers,
    dispatcher: Dispatcher<string> | undefined,
  ) {
    this.#settings = settings
    this.#discovery = discovery
    this.#consumers = consumers
    this.#dispatcher = dispatcher
  }

  onModuleInit(): void {
    const wrappers = [...this.#discovery.getProviders(), ...this.#discovery.getControllers()]
    // Providers of a request do not exist yet, and an alias has the instance of another provider.
    const instances = new Set(
      wrappers.filter(each => each.isDependencyTreeStatic()).map(each => each.instance),
    )
    for (const instance of instances)
      if (typeof instance === 'object' && instance !== null) this.#connect(instance)
  }

  #connect(instance: object): void {
    const { deadLetters, protect } = this.#settings
    for (const [key, method] of methodsOf(instance)) {
      const name = `${instance.constructor.name}.${key}`
      const connected = wrappingOf(method)?.connect(instance, { name, deadLetters, protect })
      if (connected !== undefined) this.#handlers.push(connected)
      const options = consumedBy(method)
      if (options === undefined) continue
      this.#consumers.create({ ...options, handle: (...args) => method.apply(instance, args) })
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.#settings.autoStart) return
    await Promise.all(this.#consumers.all().map(consumer => consumer.start()))
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.#consumers.all().map(consumer => consumer.close()))
  }

  async onApplicationShutdown(): Promise<void> {
    const { store, broker, deadLetters, leaveOpen } = this.#settings
    await Promise.all(this.#handlers.map(handler => handler.close()))
    await this.#dispatcher?.close()
    if (leaveOpen) return
    if (broker !== store?.broker) await broker?.close()
    if (deadLetters !== store?.deadLetters) await deadLetters?.close()
    await store?.close()
  }
}

type Method = (...args: unknown[]) => unknown

/** The methods of an instance, inherited ones included. A method that a subclass overrides is not among them. */
function methodsOf(instance: object): Map<string, Method> {
  const methods = new Map<string, Method>()
  const seen = new Set<string>()
  for (
    let type: object | null = Object.getPrototypeOf(instance);
    type !== null;
    type = Object.getPrototypeOf(type)
  ) {
    if (type === Object.prototype) break
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type))) {
      if (seen.has(name)) continue
      seen.add(name)
      if (typeof value === 'function') methods.set(name, value as Method)
    }
  }
  return methods
}
