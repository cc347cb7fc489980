import type { Clock } from '../../../ports/clock.ts'
import { CardProcessor } from './card-processor.ts'
import { MailService } from './mail-service.ts'
import { WarehouseService } from './warehouse-service.ts'

/** Every service outside the shop that its handlers call. */
export function createServices(clock: Clock) {
  return {
    processor: new CardProcessor(clock),
    mail: new MailService(clock),
    warehouse: new WarehouseService(clock),
  }
}
