import { describe, expect, it } from 'vitest'
import { headerReader, type RecordHeader } from '../../../adapter-kit/collecting/record-headers.ts'
import { isFaultHeader, readFault } from './faults.ts'

type Value = string | Buffer | null

function headers(...entries: readonly (readonly [string, Value])[]): readonly RecordHeader[] {
  return entries.map(([name, value]) => [
    Buffer.from(name),
    typeof value === 'string' ? Buffer.from(value) : value,
  ])
}

function faultOf(...entries: readonly (readonly [string, Value])[]) {
  return readFault(headerReader(headers(...entries)))
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

const STACK = `org.springframework.kafka.listener.ListenerExecutionFailedException: Listener failed
\tat org.springframework.kafka.listener.KafkaMessageListenerContainer.run(KafkaMessageListenerContainer.java:1)
Caused by: com.shop.OutOfStockException: nothing left of 17
\tat com.shop.Orders.bill(Orders.java:12)
`

describe('the failure that another program wrote on a record', () => {
  it('B20: of Spring Kafka names cause, origin and group', () => {
    const fault = faultOf(
      ['kafka_dlt-exception-fqcn', 'org.springframework.kafka.listener.ListenerExecutionFailedException'],
      ['kafka_dlt-exception-cause-fqcn', 'com.shop.OutOfStockException'],
      ['kafka_dlt-exception-message', 'Listener failed; nothing left of 17'],
      ['kafka_dlt-exception-stacktrace', STACK],
      ['kafka_dlt-original-topic', 'orders'],
      ['kafka_dlt-original-partition', int(3)],
      ['kafka_dlt-original-offset', long(9_007_199_254_740_993n)],
      ['kafka_dlt-original-timestamp', long(1_769_860_800_123n)],
      ['kafka_dlt-original-timestamp-type', 'CreateTime'],
      ['kafka_dlt-original-consumer-group', 'billing'],
    )
    expect(fault).toEqual({
      writtenBy: 'spring',
      error: 'com.shop.OutOfStockException',
      message: 'nothing left of 17',
      stack: STACK,
      at: undefined,
      topic: 'orders',
      partition: 3,
      offset: '9007199254740993',
      timestamp: 1_769_860_800_123,
      handler: 'billing',
      attempts: 1,
      detail: undefined,
    })
  })

  it('B20: of a record that passed through several topics of Spring is the last, and its origin the first', () => {
    const fault = faultOf(
      ['kafka_original-topic', 'orders'],
      ['kafka_original-partition', int(1)],
      ['retry_topic-attempts', int(4)],
      ['kafka_dlt-original-topic', 'orders-retry-1000'],
      ['kafka_exception-fqcn', 'com.shop.First'],
      ['kafka_exception-fqcn', 'com.shop.Last'],
      ['kafka_exception-message', 'too late'],
    )
    expect(fault).toMatchObject({
      topic: 'orders',
      partition: 1,
      attempts: 4,
      error: 'com.shop.Last',
      message: 'too late',
    })
  })

  it('B20: of a key that Spring cannot read counts too, and so does a record without an exception', () => {
    const key = faultOf(
      ['kafka_dlt-key-exception-fqcn', 'com.shop.KeyError'],
      ['kafka_dlt-key-exception-message', 'bad key'],
    )
    expect(key).toMatchObject({ writtenBy: 'spring', error: 'com.shop.KeyError', message: 'bad key' })
    expect(faultOf(['kafka_dlt-original-topic', 'orders'])).toMatchObject({
      error: 'Exception',
      topic: 'orders',
      partition: undefined,
    })
  })

  it('B20: of Kafka Connect names connector, stage and task', () => {
    const fault = faultOf(
      ['__connect.errors.topic', 'orders'],
      ['__connect.errors.partition', '0'],
      ['__connect.errors.offset', '17'],
      ['__connect.errors.connector.name', 'orders-to-lake'],
      ['__connect.errors.task.id', '2'],
      ['__connect.errors.stage', 'VALUE_CONVERTER'],
      ['__connect.errors.class.name', 'org.apache.kafka.connect.json.JsonConverter'],
      ['__connect.errors.exception.class.name', 'org.apache.kafka.connect.errors.DataException'],
      ['__connect.errors.exception.message', null],
      ['__connect.errors.exception.stacktrace', 'org.apache.kafka.connect.errors.DataException: bad\n\tat x'],
    )
    expect(fault).toMatchObject({
      writtenBy: 'connect',
      error: 'org.apache.kafka.connect.errors.DataException',
      message: 'bad',
      topic: 'orders',
      partition: 0,
      offset: '17',
      handler: 'orders-to-lake',
      detail: {
        stage: 'VALUE_CONVERTER',
        className: 'org.apache.kafka.connect.json.JsonConverter',
        task: '2',
      },
    })
  })

  it('B20: of Kafka Streams is read from the text of the exception', () => {
    const fault = faultOf(
      ['__streams.errors.exception', 'org.apache.kafka.streams.errors.StreamsException: no serde'],
      ['__streams.errors.topic', 'orders'],
      ['__streams.errors.partition', '5'],
      ['__streams.errors.offset', '99'],
    )
    expect(fault).toMatchObject({
      writtenBy: 'streams',
      error: 'org.apache.kafka.streams.errors.StreamsException',
      message: 'no serde',
      topic: 'orders',
      partition: 5,
      offset: '99',
    })
  })

  it('B20: of Wolverine names its time, and the source of a retry topic before the retry topic', () => {
    const entries = [
      ['message-type', 'Shop.OrderPlaced'],
      ['attempts', '4'],
      ['exception-type', 'System.InvalidOperationException'],
      ['exception-message', 'no stock'],
      ['exception-stack', '   at Shop.Handle()'],
      ['failed-at', '1769860800123'],
      ['original-destination', 'kafka://topic/orders.retry.5s'],
      ['original-partition', '2'],
      ['original-offset', '41'],
    ] as const
    expect(faultOf(...entries)).toMatchObject({
      writtenBy: 'wolverine',
      error: 'System.InvalidOperationException',
      message: 'no stock',
      at: 1_769_860_800_123,
      topic: 'orders.retry.5s',
      partition: 2,
      offset: '41',
      attempts: 4,
    })
    expect(faultOf(...entries, ['wolverine-kafka-retry-source', 'orders'])).toMatchObject({ topic: 'orders' })
  })

  it('B20: of MassTransit has the topic of its address', () => {
    const fault = faultOf(
      ['MT-Reason', 'fault'],
      ['MT-Fault-ExceptionType', 'System.ArgumentException'],
      ['MT-Fault-Message', 'Expected failure'],
      ['MT-Fault-InputAddress', 'loopback://localhost/kafka/orders'],
      ['MT-Fault-ConsumerType', 'Shop.OrderConsumer'],
      ['MT-Fault-Timestamp', '2026-01-31T12:00:00.000Z'],
      ['MT-Fault-RetryCount', '2'],
    )
    expect(fault).toMatchObject({
      writtenBy: 'masstransit',
      error: 'System.ArgumentException',
      message: 'Expected failure',
      topic: 'orders',
      handler: 'Shop.OrderConsumer',
      at: Date.parse('2026-01-31T12:00:00Z'),
      attempts: 3,
    })
  })

  it.each([
    [['exception-type', 'X']],
    [['failed-at', '1']],
    [['tenant', 'eu']],
    [['kafka_dlt-exception-fqcn', null]],
  ] as const)('B20: is not found in %j', entry => {
    expect(faultOf(entry)).toBeUndefined()
  })

  it('B20: stays out of a replay, and headers of the producer do not', () => {
    for (const name of [
      'kafka_dlt-original-offset',
      'retry_topic-attempts',
      '__connect.errors.stage',
      'MT-Reason',
    ])
      expect(isFaultHeader(name, undefined)).toBe(true)
    for (const name of ['kafka_correlationId', 'kafka_replyTopic', 'tenant', 'exception-type', 'failed-at'])
      expect(isFaultHeader(name, undefined)).toBe(false)
    expect(isFaultHeader('failed-at', 'wolverine')).toBe(true)
  })
})
