/** The types of the used part of rascal, which has none. */
export interface RascalBroker {
  on(event: 'error', listener: (error: Error) => void): void
  publish(name: string, message: unknown, overrides?: object): Promise<RascalPublication>
  subscribe(name: string): Promise<RascalSession>
  shutdown(): Promise<void>
}

export interface RascalPublication {
  on(event: 'success' | 'error' | 'return', listener: (value: unknown) => void): RascalPublication
}

export type AckOrNack = (error?: Error, recovery?: readonly object[]) => void

interface RascalSession {
  on(
    event: 'message',
    listener: (message: unknown, content: unknown, ackOrNack: AckOrNack) => void,
  ): RascalSession
  on(event: 'error', listener: (error: Error) => void): RascalSession
}

export async function openRascal(url: string, parts: object): Promise<RascalBroker> {
  const name: string = 'rascal'
  const { BrokerAsPromised, withDefaultConfig } = (await import(name)).default
  const config = withDefaultConfig({ vhosts: { '/': { connection: { url }, ...parts } } })
  const broker: RascalBroker = await BrokerAsPromised.create(config)
  broker.on('error', error => process.stderr.write(`rascal: ${error.message}\n`))
  return broker
}
