import type { ConsumerOptions } from '../../runtime/consumer/consumer-options.ts'

/** What a consumer's author decides. Where its events and letters live is decided once, for all of them. */
export type ShopHandler<P> = Omit<ConsumerOptions<P>, 'broker'> & { readonly name: string }
