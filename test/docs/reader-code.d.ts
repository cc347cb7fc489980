/**
 * The code of the reader, to which the blocks of the docs refer. Only the test that compiles the blocks sees these names;
 * tsconfig.json excludes this file. Keep it to functions of the reader's own application and to objects that an earlier
 * section of a page has made: a block imports everything of Lazaret itself.
 */

interface Order {
  readonly id: string
  readonly total: number
  readonly confirmed: boolean
  readonly card: { readonly stolen: boolean }
}
interface Mail {
  readonly to: string
}
interface Payment {
  readonly authenticated: boolean
  readonly amount: number
}

declare function ship(payload: unknown, options: { readonly signal: AbortSignal }): Promise<void>
declare function bill(payload: unknown): Promise<void>
declare function handle(event: import('lazaret').LazaretEvent): Promise<void>
declare function handleOrder(event: import('lazaret').LazaretEvent): Promise<void>
declare function handleMessage(message: import('amqplib').ConsumeMessage): Promise<void>
declare function handleRequest(request: Request): Promise<void>
declare function chargeCard(order: Order): Promise<void>
declare function refundCard(order: Order): Promise<void>
declare function publishOrder(order: Order): Promise<void>
declare function sendMail(mail: Mail): Promise<void>
declare function verifyAddress(address: string): Promise<boolean>
declare function ping(): Promise<void>
declare function call(): Promise<string>
declare function fromCache(): string
declare function page(text: string, details?: unknown): Promise<void>
declare function work(): Promise<void>
declare function isBusy(error: unknown): boolean
declare function isDuplicate(error: unknown): boolean
declare function isPayment(payload: unknown): payload is Payment
declare class InsufficientFunds extends Error {}
declare const bank: { charge(order: Order): Promise<void> }
declare const quota: { readonly used: boolean; readonly resetsInMs: number }
declare const mail: Mail
declare const signal: AbortSignal
declare const request: Request
declare const apiKey: string
declare const token: string

declare const pool: import('pg').Pool
declare const broker: import('lazaret').Broker
declare const deadLetters: import('lazaret').DeadLetterStore
declare const store: ReturnType<typeof import('lazaret/sqlite').openSqlite>
declare const sinks: { readonly loki: import('lazaret').Sink }
declare const journal: import('lazaret').Journal
declare const notifier: import('lazaret').Notifier
declare const metrics: import('lazaret').LiveMetrics
declare const orders: import('lazaret').Consumer
declare const mails: import('lazaret').Consumer
declare const events: import('lazaret').Dispatcher<'loki'>
declare const outbox: ReturnType<typeof import('lazaret/postgres').postgresOutbox>

/** The package is not installed here; its blocks show how little Lazaret asks of it. */
declare module 'winston'
