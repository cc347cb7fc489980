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
  recordListTooLarge: 18,
  unknownMember: 25,
  topicDenied: 29,
  groupDenied: 30,
  clusterDenied: 31,
  topicExists: 36,
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
}

/** All codes in an error of the client: an answer with several errors has them inside. */
export function codesOf(error: unknown): readonly number[] {
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

const DENIED: ReadonlySet<number> = new Set([
  CODE.topicDenied,
  CODE.groupDenied,
  CODE.clusterDenied,
  CODE.saslFailed,
  CODE.unsupportedVersion,
])

/** Explains an error of the client to a person: the server refuses us, or it cannot be reached. */
export function explain(servers: string, what: string, error: unknown): Error {
  const isRefused =
    codesOf(error).some(code => DENIED.has(code)) ||
    (error as ClientError | undefined)?.code === 'PLT_KFK_AUTHENTICATION'
  const problem = `${what}: ${reasonOf(error)}`
  return isRefused
    ? new KafkaRefusedError(servers, problem, error)
    : new KafkaUnreachableError(servers, problem, error)
}

/** The innermost message says the most. */
function reasonOf(error: unknown): string {
  const { errors, cause, message } = error as ClientError & { readonly message?: string }
  const inner = errors?.find(each => each !== undefined) ?? cause
  return inner === undefined ? (message ?? String(error)) : reasonOf(inner)
}
