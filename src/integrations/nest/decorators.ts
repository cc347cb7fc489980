import { LazaretError } from '../../core/failure/errors.ts'
import { OptionsError } from '../../core/options/faults.ts'
import type { DeadLetterQueue, DeadLetterStore } from '../../ports/dead-letters.ts'
import {
  type MessageDescription,
  type WithDeadLettersOptions,
  type WrappedHandler,
  withDeadLetters,
} from '../../runtime/consumer/with-dead-letters.ts'
import { resilient } from '../../runtime/resilient/resilient.ts'
import type { ResilientOptions } from '../../runtime/resilient/resilient-options.ts'
import type { NestConsumerOptions } from './consumers.ts'
import type { NestProtectDefaults } from './options.ts'

// biome-ignore lint/suspicious/noExplicitAny: a decorator takes methods with any parameters
type Method = (this: any, ...args: any[]) => any

/** Decorates a method, with `experimentalDecorators` as Nest needs it, and as standard decorators do. */
export interface LazaretDecorator {
  (target: object, key: string | symbol, descriptor: PropertyDescriptor): void
  <M extends Method>(method: M, context: { readonly kind: 'method' }): M
}

/** What the module gives to the decorated methods of one instance. */
interface MethodEnvironment {
  readonly name: string
  readonly deadLetters: DeadLetterQueue | DeadLetterStore | undefined
  /** The defaults of `@Protect`. */
  readonly protect: NestProtectDefaults
}

/** A method that `@Protect` or `@SaveDeadLetters` replaced. */
interface WrappedMethod {
  /** Connects the method of an instance with the module. What it returns is closed when the application ends. */
  connect(instance: object, environment: MethodEnvironment): { close(): Promise<void> } | undefined
}

const CONSUMED: unique symbol = Symbol.for('lazaret:nest:consume')
const WRAPPED: unique symbol = Symbol.for('lazaret:nest:wrapped')

type Marked = Method & {
  readonly [CONSUMED]?: Omit<NestConsumerOptions, 'handle'>
  readonly [WRAPPED]?: WrappedMethod
}

/** The options of `@Consume` on a method; undefined for other methods. */
export function consumedBy(method: unknown): Omit<NestConsumerOptions, 'handle'> | undefined {
  return typeof method === 'function' ? (method as Marked)[CONSUMED] : undefined
}

/** The wrapping of a method; undefined for other methods. */
export function wrappingOf(method: unknown): WrappedMethod | undefined {
  return typeof method === 'function' ? (method as Marked)[WRAPPED] : undefined
}

/**
 * Makes a method of a provider the handler of a consumer: `@Consume('orders')`, or options of `createConsumer` without
 * `handle`. The method gets the event and the context of the attempt.
 */
export function Consume(options: string | Omit<NestConsumerOptions, 'handle'>): LazaretDecorator {
  const given = typeof options === 'string' ? { channel: options } : options
  return decorator('Consume', method => marked(method, CONSUMED, given))
}

/**
 * Protects a method with the policies of `resilient()`: retry, breaker, rate limit, budget, timeout. Each instance of the
 * class has its own breaker. Options that are left out are those of `protect` of the module, once the application has
 * started; an instance that the module does not know, such as one of a request, has its own options only.
 */
export function Protect(options: ResilientOptions = {}): LazaretDecorator {
  return decorator('Protect', (method, name) => {
    const calls = new WeakMap<object, (...args: unknown[]) => Promise<unknown>>()
    const protect = (instance: object, defaults: NestProtectDefaults) => {
      const call = resilient((...args: unknown[]) => method.apply(instance, args), {
        name: nameOf(instance, name),
        ...defaults,
        ...options,
      })
      calls.set(instance, call)
      return call
    }
    const wrapped = function (this: object, ...args: unknown[]) {
      return (calls.get(this) ?? protect(this, {}))(...args)
    }
    // Faults in the options show when the application starts, and not at the first call.
    const connect = (instance: object, environment: MethodEnvironment) =>
      void protect(instance, environment.protect)
    return marked(wrapped, WRAPPED, { connect } satisfies WrappedMethod)
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the arguments are those of the decorated method
type DescribeMessage = (...args: any[]) => MessageDescription

/** Options of `@SaveDeadLetters()`. */
export interface SaveDeadLettersOptions
  extends Omit<WithDeadLettersOptions<unknown[]>, 'deadLetters' | 'leaveOpen' | 'describe'> {
  /** Tells the type, key, headers and other facts of a message from the arguments of the method [none are known]. */
  readonly describe?: DescribeMessage | undefined
  /** Where letters go [the dead letters of the module]. */
  readonly deadLetters?: DeadLetterQueue | DeadLetterStore | undefined
}

/**
 * Gives a method that another client calls, such as one of a Nest microservice, the guarantees of `withDeadLetters()`:
 * retries, and a dead letter for a message that no retry could handle.
 */
export function SaveDeadLetters(options: SaveDeadLettersOptions): LazaretDecorator {
  return decorator('SaveDeadLetters', (method, name) => {
    const handlers = new WeakMap<object, WrappedHandler<unknown[], unknown>>()
    const wrapped = async function (this: object, ...args: unknown[]) {
      const handler = handlers.get(this)
      if (handler === undefined) throw new NotConnectedError(nameOf(this, name))
      return handler(...args)
    }
    return marked(wrapped, WRAPPED, {
      connect(instance: object, environment: MethodEnvironment) {
        const deadLetters = options.deadLetters ?? environment.deadLetters
        const handler = withDeadLetters((...args: unknown[]) => method.apply(instance, args), {
          name: environment.name,
          ...options,
          // The fault of a wrapper without dead letters names the option.
          deadLetters: deadLetters!,
          leaveOpen: true,
        })
        handlers.set(instance, handler)
        return handler
      },
    })
  })
}

class NotConnectedError extends LazaretError {
  override readonly name = 'NotConnectedError'

  constructor(method: string) {
    super(
      `${method} was called before LazaretModule connected it; import LazaretModule.forRoot(…), make the class a singleton provider, and call the method after the application has started`,
      { code: 'LAZARET_OPTIONS_INVALID', retryable: false },
    )
  }
}

function decorator(subject: string, wrap: (method: Method, name: string) => Method): LazaretDecorator {
  const decorate = (first: unknown, second: unknown, descriptor?: PropertyDescriptor): unknown => {
    if (descriptor === undefined && typeof first === 'function')
      return wrap(first as Method, String((second as { readonly name?: unknown } | undefined)?.name))
    const method: unknown = descriptor?.value
    if (typeof method !== 'function') throw notAMethod(subject, second)
    descriptor!.value = wrap(method as Method, String(second))
    return undefined
  }
  return decorate as LazaretDecorator
}

function notAMethod(subject: string, key: unknown): OptionsError {
  const received = `'${String(key)}', which is not a method`
  return new OptionsError(subject, [{ path: subject, received, remedy: 'put the decorator on a method' }])
}

function marked(method: Method, mark: typeof CONSUMED | typeof WRAPPED, value: unknown): Method {
  return Object.defineProperty(method, mark, { value, configurable: true })
}

function nameOf(instance: object, method: string): string {
  return `${instance.constructor.name}.${method}`
}
