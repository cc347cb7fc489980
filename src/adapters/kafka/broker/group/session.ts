import type { Cluster } from '../../connection/cluster.ts'
import { CODE, hasCode } from '../../connection/protocol-errors.ts'
import { KafkaRefusedError } from '../../errors.ts'
import type { KafkaSettings } from '../../options.ts'

const GROUP_RESOURCE = 32
const SET = 0
const NAME = 'consumer.session.timeout.ms'

/** How long the server waits for a member of the group that is silent; undefined if it does not say. */
export async function readSessionTimeout(cluster: Cluster, group: string): Promise<number | undefined> {
  const { describeConfigsV4 } = await cluster.client()
  const question = { resourceType: GROUP_RESOURCE, resourceName: group, configurationKeys: [NAME] }
  const { results } = await describeConfigsV4.api.async(
    await cluster.any('control'),
    [question],
    false,
    false,
  )
  const value = results[0]?.configs.find(({ name }) => name === NAME)?.value ?? undefined
  return value === undefined ? undefined : Number(value)
}

/** Sets the time after which the partitions of a killed consumer go to others, if the options say one. */
export async function declareSession(
  cluster: Cluster,
  { sessionTimeoutMs, declare }: Pick<KafkaSettings, 'sessionTimeoutMs' | 'declare'>,
  group: string,
): Promise<void> {
  if (sessionTimeoutMs === undefined || declare === 'none') return
  await cluster.retrying(`group '${group}'`, async () => {
    if ((await readSessionTimeout(cluster, group)) === sessionTimeoutMs) return
    const { incrementalAlterConfigsV1 } = await cluster.client()
    const configs = [{ name: NAME, configOperation: SET, value: String(sessionTimeoutMs) }]
    const change = { resourceType: GROUP_RESOURCE, resourceName: group, configs }
    try {
      await incrementalAlterConfigsV1.api.async(await cluster.any('control'), [change], false)
    } catch (error) {
      if (!hasCode(error, CODE.invalidConfig, CODE.invalidRequest)) throw error
      throw new KafkaRefusedError(
        cluster.servers,
        `group '${group}': ${NAME}=${sessionTimeoutMs} is out of the range of the brokers`,
        'change `sessionTimeoutMs`, or lower group.consumer.min.session.timeout.ms of the brokers',
        error,
      )
    }
  })
}
