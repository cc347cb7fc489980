import { type Delivery, DeliveryLostError } from '../../../../ports/broker.ts'
import type { SubscriptionContext } from './context.ts'

/** The delivery is not ours any more: another consumer has it, or gets it. */
export function rejectLost({ settings }: SubscriptionContext, { channel }: Delivery): Promise<void> {
  return Promise.reject(new DeliveryLostError(settings.name, channel))
}
