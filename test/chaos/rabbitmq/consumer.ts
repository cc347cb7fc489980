import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { FAST_DETECTION } from '../campaign/settings.ts'
import { consumeFrom } from '../cluster/consumer.ts'

await consumeFrom(url => rabbitmq({ url, ...FAST_DETECTION }))
