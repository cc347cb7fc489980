import type { Masks } from '../core/dead-letter/masks.ts'
import type { Clock } from '../ports/clock.ts'
import type { Surroundings } from '../replay/plan.ts'
import type { ReplayTarget } from '../replay/runner.ts'
import type { Callers } from './auth/callers.ts'
import type { Pace } from './auth/pace.ts'
import type { Permissions } from './auth/permissions.ts'
import type { DemoControl } from './demo-control.ts'
import type { Hosts } from './http/hosts.ts'
import type { Live } from './live/live.ts'
import type { Metering } from './metering.ts'
import type { ReplayDefaults } from './options.ts'
import type { Consumers } from './stores/consumers.ts'
import type { Depths } from './stores/depths.ts'
import type { Federation, NamedStore } from './stores/federation.ts'
import type { Figures } from './stores/figures.ts'
import type { Watched } from './watch/watched.ts'
import type { Background } from './work/background.ts'
import type { ReplayRunner } from './work/replay-runner.ts'

/** Everything a handler works with. One for each server. */
export interface Room {
  readonly hosts: Hosts
  readonly callers: Callers
  readonly permissions: Permissions
  readonly pace: Pace
  readonly stores: Federation
  readonly figures: Figures
  readonly consumers: Consumers
  readonly depths: Depths
  readonly metering: Metering
  readonly watched: Watched
  readonly live: Live
  readonly runner: ReplayRunner
  readonly background: Background
  readonly around: Surroundings
  readonly masks: Masks
  readonly clock: Clock
  readonly demo: DemoControl | undefined
  readonly version: string
  /** The OpenAPI document, made once. */
  readonly describe: () => Readonly<Record<string, unknown>> & { readonly openapi: string }
  readonly settings: {
    readonly readOnly: boolean
    readonly needsApproval: boolean
    readonly replayDefaults: ReplayDefaults
    readonly retentionMs: number | undefined
    readonly degradedAt: number
  }
  /** Where a store's replays are sent; undefined when nothing here can send them. */
  targetOf(named: NamedStore): ReplayTarget | undefined
  /** Whether a collector of this name runs here. */
  collects(broker: string | undefined): boolean
  /** Whether letters that came from no broker have a way back of their own. */
  readonly sendsUnbrokered: boolean
  /** What nobody foresaw, for whoever runs the server. */
  onError(error: unknown): void
}
