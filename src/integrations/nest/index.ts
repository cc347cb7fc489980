export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export { LazaretConsumers, type NestConsumerOptions } from './consumers.ts'
export {
  Consume,
  type LazaretDecorator,
  Protect,
  SaveDeadLetters,
  type SaveDeadLettersOptions,
} from './decorators.ts'
export { type LazaretHealth, LazaretHealthIndicator } from './health.ts'
export { type ConsumerProvider, LazaretModule, type NestModule, provideConsumer } from './module.ts'
export type {
  LazaretModuleAsyncOptions,
  LazaretModuleOptions,
  NestConsumerDefaults,
  NestProtectDefaults,
  NestStore,
} from './options.ts'
export { consumerToken, LAZARET_DISPATCHER, LAZARET_OPTIONS } from './tokens.ts'
