import { fixed } from '../../../src/core/retry/fixed.ts'
import { writeLine } from '../../support/write-line.ts'
import { consume } from '../campaign/consume.ts'
import { CLIENTS } from './clients.ts'
import { type BrokerName, CHANNEL, CONSUMER_CLOSED } from './plan.ts'

// One of the consumers of a campaign, in a process on a host of its own.
const [name = '', url = '', folder = ''] = process.argv.slice(2)
const { broker, ledger, act, close = async () => {} } = CLIENTS[name as BrokerName](url)

// The number of a process says which one an effect came from, and whether that one was killed.
await consume(
  folder,
  String(process.pid),
  {
    broker,
    channel: CHANNEL,
    prefetch: 50,
    retry: { attempts: 20, backoff: fixed({ delayMs: 150 }) },
    ledger: ledger?.(folder),
    timeoutMs: 5_000,
    leaseMs: 8_000,
  },
  {
    act,
    close() {
      writeLine(CONSUMER_CLOSED)
      return close()
    },
  },
)
