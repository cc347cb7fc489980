import 'reflect-metadata'
import { Controller, Injectable, Scope } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { describe, expect, it } from 'vitest'
import { outputWithout } from '../../../test/support/without-package.ts'
import { memorySink } from '../../adapters/memory/sink.ts'
import { memoryStore } from '../../adapters/memory/store.ts'
import { PermanentError, TransientError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { createFactory } from '../../testing/factories.ts'
import {
  Consume,
  consumerToken,
  LAZARET_DISPATCHER,
  LazaretConsumers,
  LazaretHealthIndicator,
  LazaretModule,
  type LazaretModuleOptions,
  Protect,
  provideConsumer,
  SaveDeadLetters,
} from './index.ts'

const { event } = createFactory()
type Decorate = (target: object, key: string, descriptor: PropertyDescriptor) => void

/** Decorates a method as a compiler does with `experimentalDecorators`. Node runs no decorators yet. */
function decorate(type: new (...args: never[]) => object, key: string, decorator: Decorate): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, key)!
  decorator(type.prototype, key, descriptor)
  Object.defineProperty(type.prototype, key, descriptor)
}

async function startWith(
  providers: unknown[],
  options: Partial<LazaretModuleOptions> = {},
  imports: unknown[] = [],
) {
  const store = memoryStore()
  const closed: string[] = []
  const watched = { ...store, close: async () => void closed.push('store') }
  const module = {
    module: class TestModule {},
    imports: [LazaretModule.forRoot({ store: watched, ...options }), ...imports] as never[],
    providers: providers as never[],
  }
  const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false })
  return { app, store, closed }
}

describe('consumers of a Nest application', () => {
  it('"a provider method becomes a handler": it starts with the application and drains before the store closes', async () => {
    const log: string[] = []
    const started = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    class Orders {
      readonly prefix = 'order '
      async place({ payload }: { readonly payload: unknown }): Promise<void> {
        started.resolve()
        await finish.promise
        log.push(this.prefix + payload)
      }
    }
    decorate(Orders, 'place', Consume({ channel: 'orders', name: 'place' }))
    const { app, store, closed } = await startWith([Orders])
    await store.broker!.publish([event({ channel: 'orders', payload: 7 })])
    await started.promise
    expect(app.get(LazaretConsumers).get('orders', 'place').health()).toMatchObject({ active: 1 })
    const closing = app.close()
    finish.resolve()
    await closing
    expect({ log, closed }).toEqual({ log: ['order 7'], closed: ['store'] })
    await expect(app.get(LazaretConsumers).get('orders', 'place').start()).rejects.toMatchObject({
      code: 'LAZARET_CLOSED',
    })
  })

  it('"injectable consumer tokens": provideConsumer injects services, and needs no decorator', async () => {
    const handled = Promise.withResolvers<unknown>()
    class Warehouse {
      reserve = handled.resolve
    }
    const consumer = provideConsumer({
      channel: 'orders',
      inject: [Warehouse],
      useFactory: (warehouse: Warehouse) => ({ handle: ({ payload }) => warehouse.reserve(payload) }),
    })
    const { app, store } = await startWith([Warehouse, consumer])
    await store.broker!.publish([event({ channel: 'orders', payload: 'A1' })])
    expect(await handled.promise).toBe('A1')
    expect(app.get(consumerToken('orders'))).toBe(app.get(LazaretConsumers).get('orders'))
    expect(() => app.get(LazaretConsumers).get('refunds')).toThrow('give one of the consumers: orders')
    await app.close()
  })

  it('two consumers of a channel without names of their own are refused, because they would share its events', async () => {
    class Orders {
      bill(): void {}
      ship(): void {}
    }
    decorate(Orders, 'bill', Consume('orders'))
    decorate(Orders, 'ship', Consume('orders'))
    await expect(startWith([Orders])).rejects.toThrow(
      "got 'orders' twice; give each consumer of channel 'orders' a name of its own",
    )
  })

  it('consumer options of the module are defaults, and faults of a decorator name the option', async () => {
    class Orders {
      place(): void {
        throw new TransientError('later')
      }
    }
    decorate(Orders, 'place', Consume({ channel: 'orders' }))
    const dead = Promise.withResolvers<unknown>()
    const notifier = { notify: async (notice: unknown) => dead.resolve(notice) }
    const { app, store } = await startWith([Orders], { consumers: { retry: { attempts: 1 }, notifier } })
    await store.broker!.publish([event({ channel: 'orders' })])
    await dead.promise
    expect((await store.deadLetters.list()).letters).toHaveLength(1)
    await app.close()
    class Typo {
      place(): void {}
    }
    decorate(Typo, 'place', Consume({ channel: 'orders', retires: 3 } as never))
    await expect(startWith([Typo])).rejects.toThrow("unknown option, did you mean 'retry'?")
    await expect(startWith([], { stroe: 1 } as never)).rejects.toThrow("did you mean 'store'?")
  })

  it('standard decorators work too, and a decorator that is not on a method is refused', () => {
    const method = () => 1
    const wrapped = Protect()(method, { kind: 'method', name: 'load' } as { readonly kind: 'method' })
    expect(typeof wrapped).toBe('function')
    expect(() => Consume('orders')({}, 'field', {})).toThrow("got 'field', which is not a method")
  })
})

describe('protected methods', () => {
  it('@Protect retries and keeps `this`, and faults in its options end the start of the application', async () => {
    class Profiles {
      calls = 0
      async load(id: number): Promise<string> {
        if (++this.calls < 3) throw new TransientError('busy')
        return `profile ${id}`
      }
    }
    decorate(Profiles, 'load', Protect({ retry: { attempts: 3, backoff: fixed({ delayMs: 0 }) } }))
    const { app } = await startWith([Profiles])
    expect(await app.get(Profiles).load(7)).toBe('profile 7')
    expect(app.get(Profiles).calls).toBe(3)
    class Broken {
      load(): void {}
    }
    decorate(Broken, 'load', Protect({ retires: 3 } as never))
    await expect(startWith([Broken])).rejects.toThrow(
      "resilient.retires: got 3; unknown option, did you mean 'retry'?",
    )
    await app.close()
  })

  it('"protect: { … }": options of the module are defaults of @Protect, and its own options win', async () => {
    class Profiles {
      calls = 0
      async load(): Promise<void> {
        this.calls++
        throw new TransientError('busy')
      }
      async save(): Promise<void> {
        await this.load()
      }
    }
    decorate(Profiles, 'load', Protect())
    decorate(Profiles, 'save', Protect({ retry: { attempts: 1 } }))
    const failed: string[] = []
    const protect = {
      retry: { attempts: 3, backoff: fixed({ delayMs: 0 }) },
      observer: { gaveUp: ({ name }: { readonly name: string }) => void failed.push(name) },
    }
    const { app } = await startWith([Profiles], { protect })
    const profiles = app.get(Profiles)
    await expect(profiles.load()).rejects.toThrow('busy')
    expect({ calls: profiles.calls, failed }).toEqual({ calls: 3, failed: ['Profiles.load'] })
    await expect(profiles.save()).rejects.toThrow('busy')
    expect(profiles.calls).toBe(6)
    await app.close()
    // An instance that the module does not know has the options of its decorator.
    const other = new Profiles()
    await expect(other.load()).rejects.toThrow('busy')
    expect(other.calls).toBe(1)
    await expect(startWith([Profiles], { protect: { retires: 3 } as never })).rejects.toThrow(
      "unknown option, did you mean 'retry'?",
    )
    await expect(startWith([], { protect: 3 as never })).rejects.toThrow('give options of resilient')
  })

  it('@SaveDeadLetters saves a letter for a message that fails for good, in the store of the module', async () => {
    class Mails {
      async send(_to: string): Promise<string> {
        throw new PermanentError('no such address')
      }
    }
    decorate(Mails, 'send', SaveDeadLetters({ source: 'mails', describe: (to: string) => ({ key: to }) }))
    await expect(new Mails().send('ada')).rejects.toThrow('import LazaretModule.forRoot')
    const { app, store } = await startWith([Mails])
    await app.get(Mails).send('ada')
    const { letters } = await store.deadLetters.list()
    expect(letters).toMatchObject([
      { channel: 'mails', handler: 'Mails.send', event: { key: 'ada', payload: 'ada' } },
    ])
    const mails = app.get(Mails)
    await app.close()
    await expect(mails.send('bob')).rejects.toMatchObject({ code: 'LAZARET_CLOSED' })
  })
})

describe('the life cycle of a Nest application', () => {
  it('with autoStart: false no consumer starts, and with leaveOpen: true the store stays open', async () => {
    class Orders {
      place(): void {}
    }
    decorate(Orders, 'place', Consume('orders'))
    const { broker } = memoryStore()
    const subscribed: string[] = []
    const closedBroker: string[] = []
    const counting = Object.assign(Object.create(broker!), {
      subscribe: (options: { readonly channel: string }, deliver: never) => {
        subscribed.push(options.channel)
        return broker!.subscribe(options as never, deliver)
      },
      close: async () => void closedBroker.push('broker'),
    })
    const options = { broker: counting, autoStart: false, leaveOpen: true }
    const { app, closed } = await startWith([Orders], options)
    expect(subscribed).toEqual([])
    await app.get(LazaretConsumers).get('orders').start()
    expect(subscribed).toEqual(['orders'])
    await app.close()
    expect([...closed, ...closedBroker]).toEqual([])
  })

  it('a broker and dead letters beside the store are closed too, and the dispatcher before them', async () => {
    const other = memoryStore()
    const sink = memorySink()
    const order: string[] = []
    const broker = Object.assign(Object.create(other.broker!), {
      close: async () => void order.push('broker'),
    })
    const deadLetters = Object.assign(Object.create(other.deadLetters), {
      close: async () => void order.push('letters'),
    })
    const closing = Object.assign(Object.create(sink), { close: async () => void order.push('sink') })
    const { app, closed } = await startWith([], {
      broker,
      deadLetters,
      dispatcher: { sinks: { sink: closing } },
      leaveOpen: false,
    })
    await app.close()
    expect(order.indexOf('sink')).toBe(0)
    // The dispatcher closes its dead letters too, and closing twice is safe.
    expect(new Set(order)).toEqual(new Set(['sink', 'broker', 'letters']))
    expect(closed).toEqual(['store'])
  })

  it('a consumer of an inherited method is made once for an alias, and not for a method that a subclass overrides', async () => {
    class Base {
      place(): void {}
      refund(): void {}
    }
    decorate(Base, 'place', Consume('orders'))
    decorate(Base, 'refund', Consume('refunds'))
    class Orders extends Base {
      override refund(): void {}
    }
    const { app } = await startWith([Orders, { provide: 'alias', useExisting: Orders }])
    const names = app
      .get(LazaretConsumers)
      .health()
      .map(({ channel }) => channel)
    expect(names).toEqual(['orders'])
    await app.close()
  })

  it('a method of a controller is decorated too, and every module can inject the consumers', async () => {
    class Orders {
      place(): void {}
    }
    decorate(Orders, 'place', Consume('orders'))
    Controller()(Orders)
    const other = {
      module: class OtherModule {},
      controllers: [Orders],
      providers: [
        {
          provide: 'injected',
          inject: [LazaretConsumers],
          useFactory: (consumers: LazaretConsumers) => consumers,
        },
      ],
    }
    const { app } = await startWith([], {}, [other])
    const injected: LazaretConsumers = app.get('injected', { strict: false })
    expect(injected.get('orders').health()).toMatchObject({ channel: 'orders' })
    await app.close()
  })

  it('a provider of a request has no consumer, because an event has no request', async () => {
    class Orders {
      place(): void {}
    }
    decorate(Orders, 'place', Consume('orders'))
    Injectable({ scope: Scope.REQUEST })(Orders)
    const { app } = await startWith([Orders])
    expect(app.get(LazaretConsumers).all()).toEqual([])
    await app.close()
  })
})

describe('the rest of the module', () => {
  it('"injectable dispatcher": forRootAsync injects what its factory needs', async () => {
    const sink = memorySink()
    const store = memoryStore()
    class Config {
      readonly channel = 'audit'
    }
    class ConfigModule {}
    const module = {
      module: class TestModule {},
      imports: [
        LazaretModule.forRootAsync({
          imports: [{ module: ConfigModule, providers: [Config], exports: [Config] }],
          inject: [Config],
          useFactory: async ({ channel }: Config) => ({ store, dispatcher: { sinks: { sink }, channel } }),
        }),
      ],
    }
    const app = await NestFactory.createApplicationContext(module, { logger: false })
    const result = await app
      .get(LAZARET_DISPATCHER)
      .track({ type: 'order.paid', payload: 1 }, { wait: 'outcome' } as never)
    expect(result).toBeDefined()
    await app.close()
    expect(sink.events).toMatchObject([{ type: 'order.paid', channel: 'audit' }])
  })

  it('F6: Terminus takes the health indicator: up, and an error while a breaker is open', async () => {
    class Orders {
      place(): void {}
    }
    decorate(Orders, 'place', Consume({ channel: 'orders', breaker: { failures: 1 } }))
    const { app } = await startWith([Orders], {}, [TerminusModule])
    const health = app.get(HealthCheckService, { strict: false })
    const lazaret = app.get(LazaretHealthIndicator)
    expect(await health.check([() => lazaret.check()])).toMatchObject({
      status: 'ok',
      details: { lazaret: { status: 'up', breakerState: 'CLOSED', dlqSize: 0, failingSinks: [] } },
    })
    app.get(LazaretConsumers).get('orders').breaker!.force('open')
    await expect(health.check([() => lazaret.check('orders')])).rejects.toMatchObject({
      response: { status: 'error', error: { orders: { status: 'down', breakerState: 'OPEN' } } },
    })
    await app.close()
  })

  it('F6: the indicator is degraded with more than degradedAt letters, and while a sink fails', async () => {
    const sink = {
      write: async () => {
        throw new TransientError('gone')
      },
    }
    const dispatcher = { sinks: { sink }, breaker: { failures: 1 }, retry: { attempts: 1 } }
    const { app, store } = await startWith([], { degradedAt: 1, dispatcher })
    const lazaret = app.get(LazaretHealthIndicator)
    const make = createFactory()
    await store.deadLetters.send(make.letter())
    expect(await lazaret.check()).toMatchObject({ lazaret: { status: 'up', dlqSize: 1 } })
    await store.deadLetters.send(make.letter())
    expect(await lazaret.check()).toMatchObject({ lazaret: { status: 'degraded', dlqSize: 2 } })
    await app.close()
    const { app: other } = await startWith([], { dispatcher })
    await other.get(LAZARET_DISPATCHER).track({ type: 'order.paid' }, { onFailure: 'swallow' } as never)
    expect(await other.get(LazaretHealthIndicator).check('mine')).toMatchObject({
      mine: { status: 'degraded', failingSinks: ['sink'] },
    })
    await other.close()
  })

  it('without @nestjs/core the module says how to install it', async () => {
    const output = await outputWithout(
      '@nestjs/core',
      `const { LazaretModule } = await import('./src/integrations/nest/index.ts')
      try { LazaretModule.forRoot({}) } catch (error) { console.log(error.code, error.message) }`,
    )
    expect(output).toBe(
      'LAZARET_CLIENT_MISSING @nestjs/core: cannot be loaded; install it beside lazaret: npm install @nestjs/core',
    )
  })
})
