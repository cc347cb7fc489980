/** What the environment says, with defaults that suit a laptop. */
export interface Config {
  readonly httpPort: number
  /** Where the servers that stand in for Loki and Sentry are told to fail; without them there is none. */
  readonly controlPort: number
  readonly dir: string
  /** Of your own; otherwise there are servers to play with. */
  readonly lokiUrl: string | undefined
  readonly sentryDsn: string | undefined
  /** New events a second, and retries a second. */
  readonly eventsPerSecond: number
  readonly retriesPerSecond: number
  /** How long events may still go their way when the service is told to stop. */
  readonly graceMs: number
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const number = (name: string, otherwise: number) => {
    const value = Number(env[name] ?? otherwise)
    if (!Number.isInteger(value) || value < 0)
      throw new Error(`${name}: got ${env[name]}; give a whole number`)
    return value
  }
  return {
    httpPort: number('HTTP_PORT', 4700),
    controlPort: number('CONTROL_PORT', 4701),
    dir: env['DIR'] ?? 'var/order-service',
    lokiUrl: env['LOKI_URL'],
    sentryDsn: env['SENTRY_DSN'],
    eventsPerSecond: number('EVENTS_PER_SECOND', 1_000),
    retriesPerSecond: number('RETRIES_PER_SECOND', 100),
    graceMs: number('GRACE_MS', 10_000),
  }
}
