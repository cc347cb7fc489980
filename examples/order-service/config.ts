import { loadPolicies, type Policies } from 'lazaret'
import { z } from 'zod'

/** Environment variables are text. An empty one counts as not set. */
const port = z.coerce.number().int().min(0)
const own = z.string().transform(text => text || undefined)

/** The section `service` of the file. */
const Settings = z.strictObject({
  httpPort: port,
  controlPort: port,
  dir: z.string().min(1),
  lokiUrl: own,
  sentryDsn: own,
})

export type Config = Policies<z.infer<typeof Settings>>

/** Reads policies and settings; the file says what each of them is for. */
export function loadConfig(): Config {
  return loadPolicies(new URL('order-service.yaml', import.meta.url), { service: Settings })
}

/** For the page: retries a second; 0 without a limit. */
export function retriesPerSecond(config: Config): number {
  const { retryLimit } = config.dispatcher()
  return typeof retryLimit === 'object' ? (retryLimit.perSecond ?? 0) : 0
}
