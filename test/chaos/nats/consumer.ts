import { nats } from '../../../src/adapters/nats/index.ts'
import { consumeFrom } from '../cluster/consumer.ts'
import { FAST_DETECTION } from './settings.ts'

await consumeFrom(url => nats({ url, ...FAST_DETECTION }))
