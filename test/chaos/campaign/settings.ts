export const CHANNEL = 'campaign'

/** Short timeouts: a fault is noticed within seconds, so that a campaign has time for many. */
export const FAST_DETECTION = {
  reconnectBaseMs: 20,
  reconnectMaxMs: 500,
  heartbeatSeconds: 1,
  confirmTimeoutMs: 2_000,
} as const
/** Longer than it takes either side to give the other up. */
export const STOPPED_MS = 4_000
