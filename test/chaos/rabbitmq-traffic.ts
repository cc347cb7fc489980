import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { Traffic } from './traffic.ts'

const FAST_DETECTION = {
  reconnectBaseMs: 20,
  reconnectMaxMs: 500,
  heartbeatSeconds: 1,
  confirmTimeoutMs: 2_000,
}
/** On a machine that stands still for seconds, a connection that works is not given up. */
export const SLOW_DETECTION = { ...FAST_DETECTION, heartbeatSeconds: 60, confirmTimeoutMs: 120_000 }

export function rabbitmqTraffic(channel: string, url: string, detection = FAST_DETECTION): Traffic {
  return new Traffic(channel, () => rabbitmq({ url, ...detection }))
}
