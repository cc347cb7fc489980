import { ledgerName } from '../../ports/ledger.ts'

// Symbols of the global registry: an application that loads this package twice still has one token for each thing.

/** Injects the options of the module, with what `forRootAsync` computed. */
export const LAZARET_OPTIONS: unique symbol = Symbol.for('lazaret:nest:options')

/** Injects the dispatcher that the option `dispatcher` of the module describes; undefined without that option. */
export const LAZARET_DISPATCHER: unique symbol = Symbol.for('lazaret:nest:dispatcher')

/** Injects the consumer that `provideConsumer` made for this channel and name [the channel's name]. */
export function consumerToken(channel: string, name: string = channel): string {
  return `lazaret:nest:consumer:${ledgerName(channel, name)}`
}
