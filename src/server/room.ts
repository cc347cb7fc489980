import type { Masks } from '../core/dead-letter/masks.ts'
import type { Retention } from '../core/dead-letter/retention.ts'
import type { Clock } from '../ports/clock.ts'
import type { ReplayTarget, Surroundings } from '../replay/target.ts'
import type { Callers } from './auth/callers.ts'
import type { Pace } from './auth/pace.ts'
import type { Permissions } from './auth/permissions.ts'
import type { DemoControl } from './demo-control.ts'
import type { Hosts } from './http/hosts.ts'
import type { Live } from './live/live.ts'
import type { Metering } from './metering.ts'
import type { ReplayDefaults } from './options.ts'
import type { SearchAccess } from './search/access.ts'
import type { ShownGroups } from './search/group-texts.ts'
import type { Consumers } from './stores/consumers.ts'
import type { Depths } from './stores/depths.ts'
import type { Federation, NamedStore } from './stores/federation.ts'
import type { Figures } from './stores/figures.ts'
import type { Probe } from './stores/probe.ts'
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
  readonly probe: Probe
  readonly searches: SearchAccess
  readonly shownGroups: ShownGroups
  readonly consumers: Consumers
  readonly depths: Depths
  readonly metering: Metering
  readonly watched: Watched
  readonly live: Live
  readonly runner: ReplayRunner
  readonly background: Background
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
    readonly retention: Retention
    readonly degradedAt: number
  }
  /** Where a store's replays are sent; undefined when nothing here can send them. */
  targetOf(named: NamedStore): ReplayTarget | undefined
  /** What a plan for letters of a store is made with. */
  aroundOf(named: NamedStore): Surroundings
  /** What nobody foresaw, for whoever runs the server. */
  onError(error: unknown): void
}
