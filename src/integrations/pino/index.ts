export type { PinoEventsOptions } from './options.ts'
export { PinoEvents, pinoEvents, type Tracker } from './pino-events.ts'
export {
  DEFAULT_TRANSPORT_GRACE_MS,
  type PinoTransportOptions,
  pinoTransport,
  // biome-ignore lint/style/noDefaultExport: pino takes the default export of a target
  pinoTransport as default,
} from './transport.ts'
