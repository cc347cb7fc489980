import { LazaretError } from '../../../core/failure/errors.ts'
import { KafkaRefusedError, KafkaUnreachableError } from '../errors.ts'

/** The codes of the protocol that decide what happens next. */
export const CODE = {
  offsetOutOfRange: 1,
  unknownTopic: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  tooLarge: 10,
  metadataTooLarge: 12,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  invalidTopic: 17,
  recordListTooLarge: 18,
  unknownMember: 25,
  topicDenied: 29,
  groupDenied: 30,
  clusterDenied: 31,
  topicExists: 36,
  invalidPartitions: 37,
  invalidReplicationFactor: 38,
  invalidConfig: 40,
  invalidRequest: 42,
  policyViolation: 44,
  invalidRecord: 87,
  outOfOrderSequence: 45,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  unknownProducer: 59,
  fencedLeaderEpoch: 74,
  unknownLeaderEpoch: 75,
  unknownTopicId: 100,
  inconsistentTopicId: 103,
  fencedMemberEpoch: 110,
  staleMemberEpoch: 113,
  unsupportedVersion: 35,
  saslFailed: 58,
} as const

interface ClientError {
  readonly apiCode?: unknown
  readonly code?: unknown
  readonly errors?: readonly unknown[]
  readonly cause?: unknown
  readonly response?: unknown
  readonly message?: string
  /** What the server says, which is often more than the code. */
  readonly serverErrorMessage?: string | null
}

/** All codes in an error of the client: an answer with several errors has them inside. */
function codesOf(error: unknown): readonly number[] {
  if (typeof error !== 'object' || error === null) return []
  const { apiCode, errors = [], cause } = error as ClientError
  const own = typeof apiCode === 'number' ? [apiCode] : []
  return [...own, ...errors.flatMap(codesOf), ...(cause === undefined ? [] : codesOf(cause))]
}

export function hasCode(error: unknown, ...codes: readonly number[]): boolean {
  return codesOf(error).some(code => codes.includes(code))
}

/** The answer that carries the errors; undefined if there was no answer. */
export function answerOf<R>(error: unknown): R | undefined {
  return (error as ClientError | undefined)?.response as R | undefined
}

/** The refusals of a cluster that another try does not change, and what a person can do about them. */
const REMEDIES: ReadonlyMap<number, string> = new Map([
  [CODE.saslFailed, 'check user, password and mechanism of the option `sasl`'],
  [CODE.topicDenied, allowWith('--topic NAME')],
  [CODE.groupDenied, allowWith('--group NAME')],
  [CODE.clusterDenied, allowWith('--cluster')],
  [CODE.unsupportedVersion, 'use brokers that run Kafka 4.0 or newer'],
  [
    CODE.invalidTopic,
    'use another name for the channel, or set other names with the options `topic` and `group`',
  ],
  [CODE.metadataTooLarge, 'raise offset.metadata.max.bytes of the brokers to 4096, its default, or more'],
  [CODE.invalidPartitions, 'correct the option `partitions`'],
  [CODE.invalidReplicationFactor, 'correct the option `replicationFactor`'],
  [CODE.invalidConfig, 'create the topic yourself, with settings that the cluster allows'],
  [CODE.policyViolation, 'create the topic yourself, with settings that the cluster allows'],
])
const TRUST =
  'give the certificate of its authority: `tls: { ca }`, or the environment variable NODE_EXTRA_CA_CERTS'

/** What Node says of a certificate that it does not accept. */
const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/

function allowWith(resource: string): string {
  return `allow it: kafka-acls.sh --add --allow-principal User:NAME --operation All ${resource}`
}

/** What the cluster says while none of its brokers has sent a heartbeat in time. It has the code of a wrong option. */
const ALL_FENCED = 'All brokers are currently fenced'

/** What a person can do about a refusal; undefined if another try can help. */
function remedyOf(error: unknown): string | undefined {
  const code = codesOf(error).find(each => REMEDIES.has(each))
  if (code === CODE.invalidReplicationFactor && reasonOf(error).includes(ALL_FENCED)) return undefined
  if (code !== undefined) return REMEDIES.get(code)
  const errors = withInner(error)
  if (errors.some(each => each.code === 'PLT_KFK_AUTHENTICATION')) return REMEDIES.get(CODE.saslFailed)
  return errors.some(({ code: name }) => UNTRUSTED.test(String(name))) ? TRUST : undefined
}

/** Whether trying again cannot help. */
export function isRefusal(error: unknown): boolean {
  return remedyOf(error) !== undefined
}

/** Explains an error of the client to a person: the server refuses us, or it cannot be reached. Ours are explained already. */
export function explain(servers: string, what: string, error: unknown): Error {
  if (error instanceof LazaretError) return error
  const problem = `${what}: ${reasonOf(error)}`
  const remedy = remedyOf(error)
  return remedy === undefined
    ? new KafkaUnreachableError(servers, problem, error)
    : new KafkaRefusedError(servers, problem, remedy, error)
}

/** The innermost message says the most, and that of the server more than that of the client. */
function reasonOf(error: unknown): string {
  const { serverErrorMessage, message } = withInner(error).at(-1) ?? {}
  return serverErrorMessage ?? message ?? String(error)
}

/** An error, and those inside it. */
function withInner(error: unknown): readonly ClientError[] {
  if (typeof error !== 'object' || error === null) return []
  const { errors, cause } = error as ClientError
  return [error, ...withInner(errors?.find(each => each !== undefined) ?? cause)]
}
