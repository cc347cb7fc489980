import { loadPolicies, type Policies } from 'lazaret'
import { z } from 'zod'

const url = (schemes: RegExp, example: string) => z.string().regex(schemes, `give a URL such as ${example}`)

/** The section `service` of the file: what Lazaret does not know. Environment variables are text. */
const Settings = z.strictObject({
  rabbitmq: z.strictObject({
    url: url(/^amqps?:\/\/./, 'amqp://user:password@host:5672'),
    queueType: z.enum(['quorum', 'classic']),
  }),
  database: z.strictObject({ url: url(/^postgres(?:ql)?:\/\/./, 'postgres://user:password@host:5432/name') }),
  channel: z.string().min(1),
  http: z.strictObject({
    host: z.string().min(1),
    port: z.coerce.number().int().min(0),
    degradedAt: z.coerce.number().int().min(0),
  }),
})

export type Config = Policies<z.infer<typeof Settings>>

/** Reads the file, puts the environment in and checks it whole. */
export function loadConfig(file: string): Config {
  return loadPolicies(file, { service: Settings })
}
