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
  /** Where the console shows it; `{group}` is the group of the broken release. */
  readonly href: string
}

/** The story as it is told, in the order it happens by itself. */
export const STEPS: readonly Step[] = [
  {
    id: 'orders',
    title: 'Orders come in',
    text: 'Two a second. Each becomes a payment, an e-mail and a parcel, every one in a channel of its own.',
    href: '/channels',
  },
  {
    id: 'retry',
    title: 'A retry helps',
    text: 'Now and then the warehouse gives no answer. The second attempt is enough, and nobody notices.',
    href: '/channels',
  },
  {
    id: 'broken-release',
    title: 'Release 2.4.0 breaks the payments',
    text: 'A wallet payment has no card: a TypeError. Every such payment becomes a dead letter of one group.',
    action: 'break',
    href: '/groups/{group}',
  },
  {
    id: 'wrong-shape',
    title: 'A partner sends another shape',
    text: 'The quantity is a word. The schema says so before any attempt is made.',
    action: 'send-wrong-shape',
    href: '/letters?reason=schema',
  },
  {
    id: 'bad-address',
    title: 'An address that cannot be',
    text: 'The mail service answers 422: a retry could not help, so there is none.',
    action: 'send-bad-address',
    href: '/letters?channel=emails',
  },
  {
    id: 'poison',
    title: 'A poison order is quarantined',
    text: 'The same failure three times on one order. No replay takes it unchanged.',
    action: 'send-poison',
    href: '/letters?state=quarantined',
  },
  {
    id: 'breaker-opens',
    title: 'The warehouse fails, its breaker opens',
    text: 'Five failures in a row. The consumer pauses: parcels wait in the channel instead of dying.',
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
    title: 'The warehouse is well, the breaker closes',
    text: 'Two probes succeeded. The waiting parcels continue.',
    action: 'fix-warehouse',
    href: '/channels',
  },
  {
    id: 'sink-recovers',
    title: 'Health checks find analytics well again',
    text: 'Nobody had to try it with an event. A replay of its letters now goes to analytics alone.',
    action: 'fix-analytics',
    href: '/letters?channel=tracking&reason=breaker_open',
  },
  {
    id: 'burst',
    title: 'A rush of orders meets the rate limit',
    text: 'More events come than the limit admits. It drops page views, turns carts into letters and admits payments.',
    action: 'burst',
    href: '/letters?reason=rate_limited',
  },
  {
    id: 'replay-halts',
    title: 'A replay that comes too soon halts by itself',
    text: 'One payment is sent again, fails with the cause it had, and the others stay where they are.',
    action: 'replay-payments',
    href: '/replays',
  },
  {
    id: 'fix',
    title: 'Release 2.4.1 fixes the payments',
    text: 'From here on wallets are charged. What died before still waits.',
    action: 'fix',
    href: '/groups/{group}',
  },
  {
    id: 'replay-recovers',
    title: 'A replay brings the payments back',
    text: 'One first, then ten, then the rest. Recovered means that the handler has succeeded, not that it was sent.',
    action: 'replay-payments',
    href: '/replays',
  },
]
