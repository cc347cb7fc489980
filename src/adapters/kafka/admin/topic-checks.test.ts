import { describe, expect, it } from 'vitest'
import { checkSession, checkTopics, type TopicSettings } from './topic-checks.ts'

const DAY_MS = 86_400_000

function topic(told: Partial<TopicSettings> = {}): TopicSettings {
  return {
    name: 'orders',
    purpose: 'channel',
    partitions: 6,
    replicas: 3,
    configs: {
      'min.insync.replicas': '2',
      'unclean.leader.election.enable': 'false',
      'retention.ms': '604800000',
      'retention.bytes': '-1',
      'cleanup.policy': 'delete',
    },
    ...told,
  }
}

function own(
  purpose: TopicSettings['purpose'],
  configs: TopicSettings['configs'] = {},
  rest = {},
): TopicSettings {
  const fitting = { letters: '-1', retry: String(28 * DAY_MS), held: '-1', channel: '1' }[purpose]
  const policy = purpose === 'held' ? 'compact' : 'delete'
  const all = { ...topic().configs, 'retention.ms': fitting, 'cleanup.policy': policy, ...configs }
  return topic({ name: `orders.bill.${purpose}`, purpose, configs: all, ...rest })
}

function problems(each: TopicSettings, keptMs = Number.POSITIVE_INFINITY) {
  return checkTopics([each], topic(), keptMs).map(({ status, found, remedy }) => [status, found, remedy])
}

describe('the settings of topics', () => {
  it('F8: that keep everything are not reported', () => {
    for (const each of [topic(), own('retry'), own('letters'), own('held')])
      expect(problems(each)).toEqual([])
  })

  it('F8: that all topics of a handler share are one finding', () => {
    const topics = [topic({ replicas: 1 }), own('letters', {}, { replicas: 1 })]
    const findings = checkTopics(topics, topic(), Number.POSITIVE_INFINITY)
    expect(findings.map(({ found }) => found)).toEqual([
      'orders, orders.bill.letters have 1 replica: the loss of a broker loses events',
    ])
  })

  it.each([
    [
      'partitions that differ',
      own('retry', {}, { partitions: 3 }),
      'orders.bill.retry has 3 partitions, and orders has 6',
      '--topic orders.bill.retry --partitions 6',
    ],
    [
      'a channel with fewer partitions',
      own('retry', {}, { partitions: 9 }),
      'orders.bill.retry has 9 partitions, and orders has 6',
      '--topic orders --partitions 9',
    ],
    ['one replica', topic({ replicas: 1 }), 'orders has 1 replica', 'give each topic 3 replicas'],
    [
      'one replica in sync',
      topic({ configs: { ...topic().configs, 'min.insync.replicas': '1' } }),
      'orders has min.insync.replicas=1',
      'min.insync.replicas=2',
    ],
    [
      'all replicas in sync',
      topic({ configs: { ...topic().configs, 'min.insync.replicas': '3' } }),
      'the stop of one broker stops publishing',
      'min.insync.replicas=2',
    ],
    [
      'unclean elections',
      topic({ configs: { 'min.insync.replicas': '2', 'unclean.leader.election.enable': 'true' } }),
      'can become the leader, and they are lost',
      'unclean.leader.election.enable=false',
    ],
    [
      'letters for a week',
      own('letters', { 'retention.ms': String(7 * DAY_MS) }),
      'keeps its records for 7 d, and they are needed without limit',
      'retention.ms=-1',
    ],
    [
      'retries for a day',
      own('retry', { 'retention.ms': String(DAY_MS) }),
      'keeps its records for 1 d, and they are needed for 28 d',
      `retention.ms=${28 * DAY_MS}`,
    ],
    [
      'letters by size',
      own('letters', { 'retention.bytes': '1024' }),
      'keeps 1024 bytes',
      'retention.bytes=-1',
    ],
    [
      'compacted letters',
      own('letters', { 'cleanup.policy': 'compact' }),
      'cleanup.policy=compact',
      'cleanup.policy=delete',
    ],
    [
      'deleted held events',
      own('held', { 'cleanup.policy': 'delete' }),
      'cleanup.policy=delete',
      'cleanup.policy=compact',
    ],
  ])('F8: %s are reported with the remedy', (_, each, found, remedy) => {
    expect(problems(each)).toEqual([
      [
        expect.stringMatching(/^(?:warn|fail)$/),
        expect.stringContaining(found),
        expect.stringContaining(remedy),
      ],
    ])
  })

  it('F8: of letters need not exceed the time that the store keeps them', () => {
    const week = own('letters', { 'retention.ms': String(7 * DAY_MS) })
    expect(problems(week, 7 * DAY_MS)).toEqual([])
    expect(problems(week, 8 * DAY_MS)).toHaveLength(1)
  })
})

it('F8: a group whose killed consumers keep their partitions for long is reported', () => {
  expect(checkSession('orders.bill', 45_000)).toEqual([
    {
      status: 'warn',
      found: expect.stringContaining(
        'orders.bill: the partitions of a killed consumer go to others after 45 s',
      ),
      remedy: expect.stringContaining('consumer.session.timeout.ms=15000'),
    },
  ])
  for (const sessionMs of [undefined, 15_000, 30_000])
    expect(checkSession('orders.bill', sessionMs)).toEqual([])
})
