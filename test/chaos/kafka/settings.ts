export const PARTITIONS = 12

/** A member that was killed is missed within seconds, so that a campaign has time for many faults. */
export const SESSION_CONFIG = { 'group.consumer.session.timeout.ms': '6000' }

/** Short timeouts, for the same reason. */
export const FAST_DETECTION = { requestTimeoutMs: 5_000, heartbeatMs: 300, drainMs: 2_000 } as const
