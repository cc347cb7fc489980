/** What a topic is for. */
export type TopicPurpose = 'channel' | 'retry' | 'letters' | 'held'

/** A topic with the settings that decide whether its records survive. */
export interface TopicSettings {
  readonly name: string
  readonly purpose: TopicPurpose
  readonly partitions: number
  readonly replicas: number
  /** By the names of Kafka. */
  readonly configs: Readonly<Record<string, string | undefined>>
}

/** A setting of a topic that can lose events or letters. */
export interface TopicFinding {
  readonly status: 'warn' | 'fail'
  readonly found: string
  readonly remedy: string
}

const FOUR_WEEKS_MS = 2_419_200_000
const DAY_MS = 86_400_000
const LONG_SESSION_MS = 30_000

/** Checks the topics of a handler. `channel` is the topic of its channel, which is one of them. */
export function checkTopics(
  topics: readonly TopicSettings[],
  channel: TopicSettings,
  lettersKeptMs: number,
): readonly TopicFinding[] {
  const single = topics.filter(({ replicas }) => replicas < 2)
  return [
    ...checkSingle(single),
    ...topics.flatMap(topic => [
      ...checkPartitions(topic, channel),
      ...(single.includes(topic) ? [] : checkReplicas(topic)),
      ...checkElection(topic),
      ...checkRetention(topic, lettersKeptMs),
      ...checkCleanup(topic),
    ]),
  ]
}

/** Checks how long the events of a killed consumer wait. */
export function checkSession(group: string, sessionMs: number | undefined): readonly TopicFinding[] {
  if (sessionMs === undefined || sessionMs <= LONG_SESSION_MS) return []
  return [
    {
      status: 'warn',
      found: `group ${group}: the partitions of a killed consumer go to others after ${sessionMs / 1_000} s`,
      remedy: `set group.consumer.min.session.timeout.ms=6000 on the brokers, then: kafka-configs.sh --alter --entity-type groups --entity-name ${group} --add-config consumer.session.timeout.ms=15000`,
    },
  ]
}

function checkPartitions({ name, partitions }: TopicSettings, channel: TopicSettings): TopicFinding[] {
  if (partitions === channel.partitions) return []
  const wanted = Math.max(partitions, channel.partitions)
  const smaller = partitions < channel.partitions ? name : channel.name
  return [
    {
      status: 'fail',
      found: `${name} has ${partitions} partitions, and ${channel.name} has ${channel.partitions}`,
      remedy: `kafka-topics.sh --alter --topic ${smaller} --partitions ${wanted}`,
    },
  ]
}

/** One finding for all of them: in a cluster of one broker, every topic has one replica. */
function checkSingle(topics: readonly TopicSettings[]): TopicFinding[] {
  if (topics.length === 0) return []
  const names = topics.map(({ name }) => name).join(', ')
  return [
    {
      status: 'warn',
      found: `${names} ${topics.length === 1 ? 'has' : 'have'} 1 replica: the loss of a broker loses events`,
      remedy: 'run 3 brokers, and give each topic 3 replicas with kafka-reassign-partitions.sh',
    },
  ]
}

function checkReplicas({ name, replicas, configs }: TopicSettings): TopicFinding[] {
  const inSync = Number(configs['min.insync.replicas'] ?? 1)
  if (inSync < 2)
    return [
      {
        status: 'warn',
        found: `${name} has min.insync.replicas=${inSync}: an event is confirmed although only one broker has it`,
        remedy:
          replicas > 2
            ? alter(name, 'min.insync.replicas=2')
            : 'give it 3 replicas with kafka-reassign-partitions.sh, then min.insync.replicas=2',
      },
    ]
  if (inSync >= replicas)
    return [
      {
        status: 'warn',
        found: `${name} has min.insync.replicas=${inSync} with ${replicas} replicas: the stop of one broker stops publishing`,
        remedy: alter(name, `min.insync.replicas=${replicas - 1}`),
      },
    ]
  return []
}

function checkElection({ name, configs }: TopicSettings): TopicFinding[] {
  if (configs['unclean.leader.election.enable'] !== 'true') return []
  return [
    {
      status: 'fail',
      found: `${name} has unclean.leader.election.enable=true: a broker that missed events can become the leader, and they are lost`,
      remedy: alter(name, 'unclean.leader.election.enable=false'),
    },
  ]
}

/** Letters are kept as long as the store keeps them; a retry for as long as a person needs to find out about it. */
function checkRetention({ name, purpose, configs }: TopicSettings, lettersKeptMs: number): TopicFinding[] {
  if (purpose === 'channel' || purpose === 'held') return []
  const findings: TopicFinding[] = []
  const keptMs = limitOf(configs['retention.ms'])
  const neededMs = purpose === 'letters' ? lettersKeptMs : FOUR_WEEKS_MS
  if (keptMs < neededMs)
    findings.push({
      status: purpose === 'letters' ? 'fail' : 'warn',
      found: `${name} keeps its records ${spanText(keptMs)}, and they are needed ${spanText(neededMs)}`,
      remedy: alter(name, `retention.ms=${Number.isFinite(neededMs) ? neededMs : -1}`),
    })
  const bytes = limitOf(configs['retention.bytes'])
  if (Number.isFinite(bytes))
    findings.push({
      status: 'warn',
      found: `${name} keeps ${bytes} bytes for each partition, and deletes the oldest records beyond that`,
      remedy: alter(name, 'retention.bytes=-1'),
    })
  return findings
}

/** The compaction of a topic with retries or letters would delete all but the last of a key. */
function checkCleanup({ name, purpose, configs }: TopicSettings): TopicFinding[] {
  const policy = configs['cleanup.policy'] ?? 'delete'
  if (purpose === 'channel') return []
  const wanted = purpose === 'held' ? 'compact' : 'delete'
  if (policy === wanted) return []
  return [
    {
      status: 'fail',
      found: `${name} has cleanup.policy=${policy}, which deletes records that are still needed`,
      remedy: alter(name, `cleanup.policy=${wanted}`),
    },
  ]
}

/** -1 means no limit. */
function limitOf(text: string | undefined): number {
  const limit = Number(text ?? -1)
  return limit < 0 ? Number.POSITIVE_INFINITY : limit
}

function spanText(ms: number): string {
  if (!Number.isFinite(ms)) return 'without limit'
  return ms >= DAY_MS ? `for ${ms / DAY_MS} d` : `for ${ms / 1_000} s`
}

function alter(topic: string, setting: string): string {
  return `kafka-configs.sh --alter --topic ${topic} --add-config ${setting}`
}
