import type { Milestone } from './milestones.ts'

export type Action =
  | 'fix'
  | 'break'
  | `${'break' | 'fix'}-${'warehouse' | 'analytics'}`
  | 'burst'
  | `send-${'poison' | 'wrong-shape' | 'bad-address'}`
  | 'replay-payments'

export interface Step {
  readonly id: Milestone
  readonly title: string
  readonly text: string
  readonly action?: Action | undefined
  /** The page of the console that shows the step; `{group}` is the group of the broken release. */
  readonly href: string
}

/** The steps of the tour, in the order of the schedule. */
export const STEPS: readonly Step[] = [
  {
    id: 'orders',
    title: 'Orders come in',
    text: 'Two orders a second. Each becomes a payment, an e-mail and a parcel, each in its own channel.',
    href: '/channels',
  },
  {
    id: 'retry',
    title: 'A retry succeeds',
    text: 'Sometimes the warehouse does not answer. The second attempt succeeds.',
    href: '/channels',
  },
  {
    id: 'broken-release',
    title: 'Release 2.4.0 breaks the payments',
    text: 'A wallet payment has no card, so the handler throws a TypeError. All these payments become letters of one group.',
    action: 'break',
    href: '/groups/{group}',
  },
  {
    id: 'wrong-shape',
    title: 'A partner sends an invalid order',
    text: 'The quantity is a word. The schema rejects the order before any attempt.',
    action: 'send-wrong-shape',
    href: '/letters?reason=schema',
  },
  {
    id: 'bad-address',
    title: 'An e-mail goes to an invalid address',
    text: 'The mail service answers 422. The failure is permanent, so there is no retry.',
    action: 'send-bad-address',
    href: '/letters?channel=emails',
  },
  {
    id: 'poison',
    title: 'A poison order is quarantined',
    text: 'One order fails at every attempt in the same way. Replays skip it until someone edits or releases it.',
    action: 'send-poison',
    href: '/letters?state=quarantined',
  },
  {
    id: 'breaker-opens',
    title: 'The warehouse fails, its breaker opens',
    text: 'Five failures in a row. The consumer pauses, and parcels wait in the channel instead of becoming letters.',
    action: 'break-warehouse',
    href: '/channels',
  },
  {
    id: 'sink-fails',
    title: 'Analytics fails, the wallboard does not',
    text: 'Events are tracked for two sinks. Only the copy for the failing sink becomes a letter, and no customer waits.',
    action: 'break-analytics',
    href: '/letters?channel=tracking',
  },
  {
    id: 'breaker-closes',
    title: 'The warehouse recovers, its breaker closes',
    text: 'Two probes succeed, and the waiting parcels are shipped.',
    action: 'fix-warehouse',
    href: '/channels',
  },
  {
    id: 'sink-recovers',
    title: 'A health check notices that analytics has recovered',
    text: 'No event was needed to find out. A replay of its letters now goes to analytics only.',
    action: 'fix-analytics',
    href: '/letters?channel=tracking&reason=breaker_open',
  },
  {
    id: 'burst',
    title: 'A burst of visitors exceeds the rate limit',
    text: 'The dispatcher drops page views over the limit, turns carts into letters and always admits payments.',
    action: 'burst',
    href: '/letters?reason=rate_limited',
  },
  {
    id: 'replay-halts',
    title: 'A replay before the fix halts',
    text: 'One payment is sent again and fails with the same cause. The replay sends no more.',
    action: 'replay-payments',
    href: '/replays',
  },
  {
    id: 'fix',
    title: 'Release 2.4.1 fixes the payments',
    text: 'Wallets are charged from now on. The letters of earlier payments still wait.',
    action: 'fix',
    href: '/groups/{group}',
  },
  {
    id: 'replay-recovers',
    title: 'A replay recovers the payments',
    text: 'One letter, then ten, then the rest. Recovered means that the handler succeeded.',
    action: 'replay-payments',
    href: '/replays',
  },
]
