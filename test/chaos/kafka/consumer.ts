import { kafka } from '../../../src/adapters/kafka/index.ts'
import { consumeFrom } from '../cluster/consumer.ts'
import { FAST_DETECTION } from './settings.ts'

await consumeFrom(brokers => kafka({ brokers: brokers.split(','), ...FAST_DETECTION }))
