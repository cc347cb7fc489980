import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

/** Environment variables are text. */
const whole = (min: number) => z.coerce.number().int().min(min)
const url = (schemes: RegExp, example: string) => z.string().regex(schemes, `give a URL such as ${example}`)

const shape = z.strictObject({
  rabbitmq: z.strictObject({
    url: url(/^amqps?:\/\/./, 'amqp://user:password@host:5672'),
    queueType: z.enum(['quorum', 'classic']),
  }),
  database: z.strictObject({ url: url(/^postgres(?:ql)?:\/\/./, 'postgres://user:password@host:5432/name') }),
  consumer: z.strictObject({
    channel: z.string().min(1),
    concurrency: whole(1),
    timeoutMs: whole(1),
    retry: z.strictObject({
      attempts: whole(1),
      baseMs: whole(1),
      maxMs: whole(1),
      transient: z.strictObject({ attempts: whole(1), maxMs: whole(1) }),
    }),
    breaker: z.strictObject({ failures: whole(1), openMs: whole(1), successes: whole(1) }),
  }),
  http: z.strictObject({ host: z.string().min(1), port: whole(0), degradedAt: whole(0) }),
})

export type Config = z.infer<typeof shape>

/** Reads the file, puts the environment in and checks it whole. Values are not shown: some of them are passwords. */
export function loadConfig(file: string, env: NodeJS.ProcessEnv): Config {
  const faults: string[] = []
  const value: unknown = parse(readFileSync(file, 'utf8'), (_key, each: unknown) =>
    typeof each === 'string' ? substitute(each, env, faults) : each,
  )
  const { data, error } = shape.safeParse(value)
  for (const { path, message } of error?.issues ?? [])
    faults.push(`${path.join('.') || 'the file'}: ${message}`)
  if (data === undefined || faults.length > 0)
    throw new Error(faults.map(fault => `${file}: ${fault}`).join('\n'))
  return data
}

/** It is done to values after the YAML is read, so that nothing in a password can change the shape of the file. */
function substitute(text: string, env: NodeJS.ProcessEnv, faults: string[]): string {
  return text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_whole, name: string, fallback?: string) => {
    const value = env[name] || fallback
    if (value === undefined) faults.push(`\${${name}}: not set; set it, or write \${${name}:-default}`)
    return value ?? ''
  })
}
