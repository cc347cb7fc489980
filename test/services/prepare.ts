import { findAlertmanager } from './alertmanager.ts'
import { prepareChromium } from './chromium.ts'
import { fillCompileCache } from './compile-cache.ts'
import { findFiu } from './fiu.ts'
import { prepareKafka } from './kafka.ts'
import { findNats } from './nats.ts'
import { findGoClient } from './nats-go.ts'
import { findNginx } from './nginx.ts'
import { findPostgres } from './postgres.ts'
import { findPrometheus } from './prometheus.ts'
import { findRabbitmq } from './rabbitmq.ts'
import { findRedis } from './redis.ts'

/** Installs what tests need before the first of them starts: two at once would stand in each other's way. */
export async function setup(): Promise<void> {
  await fillCompileCache()
  await findFiu()
  await prepareChromium()
  await findPostgres()
  await findRabbitmq()
  await findRedis()
  await prepareKafka()
  await findNats('newest')
  await findNats('oldest')
  await findGoClient()
  await findPrometheus()
  await findAlertmanager()
  await findNginx()
}
