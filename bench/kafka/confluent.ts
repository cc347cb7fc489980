import type { BenchMessage } from './topics.ts'

/** The part of `@confluentinc/kafka-javascript` that the bench uses. It is not a dependency, because it is built on install. */
export interface Confluent {
  readonly Kafka: new (config: {
    readonly kafkaJS: { readonly clientId: string; readonly brokers: string[]; readonly logLevel: number }
  }) => {
    producer(config: Readonly<Record<string, unknown>>): ConfluentProducer
    consumer(config: Readonly<Record<string, unknown>>): ConfluentConsumer
  }
  readonly logLevel: { readonly NOTHING: number }
}

interface Connected {
  connect(): Promise<void>
  disconnect(): Promise<void>
}

interface ConfluentProducer extends Connected {
  send(sent: { readonly topic: string; readonly messages: readonly BenchMessage[] }): Promise<unknown>
}

interface ConfluentConsumer extends Connected {
  subscribe(wanted: { readonly topic: string }): Promise<void>
  run(handlers: {
    eachBatch(given: { readonly batch: { readonly messages: readonly BenchMessage[] } }): Promise<void>
  }): Promise<void>
}

/**
 * The module, if it is installed: `npm install --no-save @confluentinc/kafka-javascript`. LAZARET_BENCH_CONFLUENT names
 * the folder of one that was installed elsewhere.
 */
export async function loadConfluent(): Promise<Confluent | undefined> {
  const name = process.env['LAZARET_BENCH_CONFLUENT'] ?? '@confluentinc/kafka-javascript'
  try {
    const { default: loaded }: { default: { KafkaJS: Confluent } } = await import(name)
    return loaded.KafkaJS
  } catch {
    return undefined
  }
}
