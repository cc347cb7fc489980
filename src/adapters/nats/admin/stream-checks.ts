import type { ChannelStreams } from '../broker/streams/names.ts'
import { deliveryLimit } from '../broker/streams/requirements.ts'
import type { ConsumerInfo, StreamInfo } from '../connection/jetstream.ts'
import { NANOSECONDS_PER_MS } from '../connection/nanoseconds.ts'

/** A setting that can lose events or letters. */
export interface NatsFinding {
  readonly status: 'ok' | 'warn' | 'fail'
  readonly found: string
  readonly remedy?: string | undefined
}

/** The part of the configuration of a server that says how often it writes to disk. */
export interface SyncSettings {
  /** Nanoseconds. */
  readonly sync_interval?: number
  readonly sync_always?: boolean
}

const FOUR_WEEKS_MS = 2_419_200_000
const DAY_MS = 86_400_000
const ALWAYS = 'set sync_interval: always in the section jetstream of every server, and use 3 replicas'
const JEPSEN =
  'a power cut loses events that the server has confirmed: Jepsen lost 14 % of them on NATS 2.12.1'

/** Whether a power cut can lose what the server has confirmed. */
export function checkSync(settings: SyncSettings | undefined): NatsFinding[] {
  if (settings?.sync_always === true)
    return [{ status: 'ok', found: 'the server writes to disk before it confirms' }]
  const interval = settings?.sync_interval
  const found =
    interval === undefined
      ? 'the sync interval of the server cannot be seen from this account. Unless it is always'
      : `the server writes to disk every ${interval / NANOSECONDS_PER_MS / 1_000} s. With that`
  return [{ status: 'warn', found: `${found}, ${JEPSEN}`, remedy: ALWAYS }]
}

export function checkStream(
  { config, cluster }: StreamInfo,
  kind: keyof ChannelStreams,
  lettersKeptMs: number,
): NatsFinding[] {
  const findings: NatsFinding[] = []
  const warn = (found: string, remedy: string) =>
    findings.push({ status: 'warn', found: `${config.name} ${found}`, remedy })
  const edit = `nats stream edit ${config.name}`
  if (config['storage'] === 'memory') {
    const found = `${config.name} is in memory: a restart of the server loses it`
    findings.push({ status: 'fail', found, remedy: 'create it again with file storage' })
  }
  if (cluster?.name !== undefined && Number(config['num_replicas']) < 3)
    warn(`has ${config['num_replicas']} replica: the loss of its server loses it`, `${edit} --replicas 3`)
  const ageMs = Number(config['max_age'] ?? 0) / NANOSECONDS_PER_MS
  const neededMs = {
    events: 0,
    retries: FOUR_WEEKS_MS,
    state: Number.POSITIVE_INFINITY,
    letters: lettersKeptMs,
  }[kind]
  if (ageMs > 0 && ageMs < neededMs)
    warn(`keeps messages for ${days(ageMs)}, and they are needed for longer`, `${edit} --max-age 0`)
  const isLimited = Number(config['max_msgs'] ?? -1) > 0 || Number(config['max_bytes'] ?? -1) > 0
  if (isLimited && config['discard'] === 'old')
    warn('removes its oldest messages when it is full', `${edit} --discard new`)
  return findings
}

export function checkConsumer(stream: string, kind: 'events' | 'retries', info: ConsumerInfo): NatsFinding[] {
  const { name, config } = info
  const findings: NatsFinding[] = []
  const edit = `nats consumer edit ${stream} ${name}`
  const limit = deliveryLimit(info)
  if (limit !== undefined)
    findings.push({
      status: 'fail',
      found: `${stream} > ${name} ${limit}`,
      remedy: `${edit} --max-deliver -1`,
    })
  const pending = Number(config['max_ack_pending'] ?? -1)
  if (kind === 'retries' && pending > 0)
    findings.push({
      status: 'warn',
      found: `${stream} > ${name} has max_ack_pending ${pending}: so many waiting retries hold up all others`,
      remedy: `${edit} --max-pending -1`,
    })
  return findings
}

function days(ms: number): string {
  const count = Math.round((ms / DAY_MS) * 10) / 10
  return count === 1 ? '1 day' : `${count} days`
}
