import type { Clock } from '../../../ports/clock.ts'
import { CardProcessor } from './card-processor.ts'
import { MailService } from './mail-service.ts'
import { WarehouseService } from './warehouse-service.ts'

/** Everything outside the shop that its handlers call. */
export interface Services {
  readonly processor: CardProcessor
  readonly mail: MailService
  readonly warehouse: WarehouseService
}

export function createServices(clock: Clock): Services {
  return {
    processor: new CardProcessor(clock),
    mail: new MailService(clock),
    warehouse: new WarehouseService(clock),
  }
}
