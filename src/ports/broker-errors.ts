import { LazaretError } from '../core/failure/errors.ts'

export class BrokerClosedError extends LazaretError {
  override readonly name = 'BrokerClosedError'

  constructor(broker: string) {
    super(`broker '${broker}': closed; use it before close(), or open it anew`, {
      code: 'LAZARET_BROKER_CLOSED',
      retryable: false,
    })
  }
}

/** A channel holds as many events as it may. What was published before the refused event stays published. */
export class BrokerFullError extends LazaretError {
  override readonly name = 'BrokerFullError'

  constructor(broker: string, channel: string, capacity: number) {
    super(
      `broker '${broker}': channel '${channel}' is full with ${capacity}; let consumers catch up, then publish again`,
      { code: 'LAZARET_BROKER_FULL', retryable: true },
    )
  }
}

/** The delivery was settled before, or its subscription closed or lost it. Whoever has it now will settle it. */
export class DeliveryLostError extends LazaretError {
  override readonly name = 'DeliveryLostError'

  constructor(broker: string, channel: string) {
    super(
      `broker '${broker}': a delivery of channel '${channel}' is not open any more; forget it, it comes again`,
      {
        code: 'LAZARET_DELIVERY_LOST',
        retryable: false,
      },
    )
  }
}
