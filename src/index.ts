// The public entry point. Every name is exported one by one, so that a change of the public API shows in review.

export { ConfigError } from './config/config-error.ts'
export { type LoadPoliciesOptions, loadPolicies } from './config/policies/load-policies.ts'
export type {
  CallPolicies,
  ConsumerPolicies,
  DispatcherPolicies,
  Policies,
  PolicyReload,
  PolicyWatch,
  WatchPoliciesOptions,
} from './config/policies/policies.ts'
export { BreakerOpenError } from './core/breaker/errors.ts'
export {
  BREAKER_PRESETS,
  type BreakerOptions,
  type BreakerPolicy,
  type FailureRateOptions,
} from './core/breaker/options.ts'
export type { BreakerMode, BreakerState } from './core/breaker/state.ts'
export type { AutoReplayTest } from './core/dead-letter/auto-replay.ts'
export type { LetterCapsOptions } from './core/dead-letter/caps.ts'
export { changeLetter, type LetterReplay } from './core/dead-letter/change.ts'
export type { ExpiryByReason, LetterExpiryOptions } from './core/dead-letter/expiry.ts'
export { type FailedEvent, failedEvent } from './core/dead-letter/failed-event.ts'
export type { FilterSubject, SaveFilterOptions, SavePattern } from './core/dead-letter/filter.ts'
export type { Grouping, Triage, TriageState } from './core/dead-letter/group.ts'
export { letterId } from './core/dead-letter/identity.ts'
export { decodeLetter, encodeLetter } from './core/dead-letter/json.ts'
export type { AttemptRecord, Cycle, DeadLetter, Origin } from './core/dead-letter/letter.ts'
export { maskForDisplay } from './core/dead-letter/mask.ts'
export { maskLetter } from './core/dead-letter/mask-letter.ts'
export {
  createMasks,
  type MaskOptions,
  type MaskRules,
  type MaskSet,
  type Masks,
} from './core/dead-letter/masks.ts'
export { mergeLetter } from './core/dead-letter/merge.ts'
export type { LetterMetadata } from './core/dead-letter/metadata.ts'
export type { Reason } from './core/dead-letter/reason.ts'
export type { ReplayLimitOptions } from './core/dead-letter/replay-limit.ts'
export type { LetterState } from './core/dead-letter/state.ts'
export type { TimeToLive } from './core/dead-letter/time-to-live.ts'
export { TransitionError } from './core/dead-letter/transition.ts'
export { fromCloudEvent, toCloudEvent } from './core/event/cloudevents.ts'
export {
  type BinaryCloudEvent,
  type BinaryCloudEventInput,
  fromBinaryCloudEvent,
  toBinaryCloudEvent,
} from './core/event/cloudevents-binary.ts'
export { correlationIdOf } from './core/event/correlation-id.ts'
export { CloudEventError, EventError, SealError } from './core/event/errors.ts'
export type { EventInput, JsonValue, LazaretEvent } from './core/event/event.ts'
export { DEFAULT_EVENT_LIMITS, type EventLimits } from './core/event/limits.ts'
export type { ErrorCode } from './core/failure/catalogue.ts'
export { type ClassifyOptions, classify } from './core/failure/classify.ts'
export { LazaretError } from './core/failure/errors.ts'
export type { Category, DecidedBy, Failure } from './core/failure/failure.ts'
export type { FailureRule } from './core/failure/failure-rule.ts'
export type { Fingerprint } from './core/failure/fingerprint.ts'
export {
  PermanentError,
  RetryAfterError,
  type RetryAfterOptions,
  type SignalOptions,
  TransientError,
} from './core/failure/signals.ts'
export type { BypassOptions } from './core/limit/bypass.ts'
export { RateLimitedError } from './core/limit/errors.ts'
export type { TurnGrant, TurnRequest } from './core/limit/fleet/bucket.ts'
export { RETRY_LIMIT_PRESETS } from './core/limit/options.ts'
export { type Fault, OptionsError } from './core/options/faults.ts'
export type { NamePattern } from './core/options/pattern.ts'
export type { PoisonOptions } from './core/poison/options.ts'
export type { Random } from './core/random.ts'
export type { Backoff } from './core/retry/backoff.ts'
export type { BackoffOptions } from './core/retry/backoff-options.ts'
export type { BudgetOptions } from './core/retry/budget.ts'
export { decorrelated } from './core/retry/decorrelated.ts'
export { exponential } from './core/retry/exponential.ts'
export { fixed } from './core/retry/fixed.ts'
export type { Jitter } from './core/retry/jitter.ts'
export { linear } from './core/retry/linear.ts'
export type { RetryOptions } from './core/retry/policy.ts'
export { noRetry, RETRY_PRESETS } from './core/retry/presets.ts'
export type { RetryPolicy } from './core/retry/retry-policy.ts'
export { type Tier, tiers } from './core/retry/tiers.ts'
export { type HousekeepingOptions, startHousekeeping } from './operations/housekeeping.ts'
export type { Schedule } from './operations/schedule.ts'
export type { AuditEntry, AuditLog, AuditPage, AuditQuery } from './ports/audit.ts'
export type {
  Broker,
  BrokerCapabilities,
  Delivery,
  QueueDepth,
  Settlement,
  StalledPart,
  SubscribeOptions,
  Subscription,
  SubscriptionStatus,
  Undecodable,
} from './ports/broker.ts'
export { BrokerClosedError, BrokerFullError, DeliveryLostError } from './ports/broker.ts'
export { type Cancel, type Clock, type ClockAndRandomOptions, systemClock } from './ports/clock.ts'
export type { Codec, EventCodec, LetterCodec, TextCodec } from './ports/codec.ts'
export type { Collector, ReplayRoute } from './ports/collector.ts'
export type {
  Command,
  CommandOutcome,
  CommandRecord,
  CommandState,
  Commands,
  CommandTask,
} from './ports/commands.ts'
export type {
  DeadLetterQueue,
  DeadLetterStore,
  HandlerCount,
  LetterChange,
  LetterFilter,
  LetterPage,
  LetterQuery,
  LetterStats,
  LetterVersion,
  SeenLetter,
  Spill,
  TimelineSpan,
} from './ports/dead-letters.ts'
export {
  DeadLettersClosedError,
  DeadLettersFullError,
  isLetterFault,
  UnreadableLetterError,
} from './ports/dead-letters.ts'
export type {
  Fleet,
  Instance,
  InstanceReport,
  InstanceState,
  ReportedConsumer,
  ReportedSink,
} from './ports/fleet.ts'
export type { Group, GroupNote, GroupPage, GroupQuery, Groups, TriageChange } from './ports/groups.ts'
export type { Journal, JournalContents, JournalEntry } from './ports/journal.ts'
export { JournalEntryError, JournalFullError } from './ports/journal.ts'
export { type Claim, type Ledger, ledgerName } from './ports/ledger.ts'
export type { LogFields, Logger, LogLevel } from './ports/logger.ts'
export type { GaugeReading, HistogramSample, MetricFamily, Metrics, NumberSample } from './ports/metrics.ts'
export type {
  ChannelNotice,
  ExpiryNotice,
  GroupNotice,
  Notice,
  Notifier,
  OpenAlerts,
  ReplayNotice,
} from './ports/notifier.ts'
export type {
  GiveUpReason,
  LetterObservation,
  Observations,
  Observer,
  PauseReason,
  ProcessedOutcome,
  ReplayOutcome,
  UserFunction,
} from './ports/observer.ts'
export type {
  AnsweringProcess,
  GateAnswer,
  GateCheck,
  ItemCondition,
  ItemQuery,
  ItemStatus,
  PatchOperation,
  Replay,
  ReplayCounts,
  ReplayDecision,
  ReplayItem,
  ReplayOverlap,
  ReplayState,
  Replays,
  Stage,
} from './ports/replays.ts'
export type { StandardSchema } from './ports/schema.ts'
export type { LimitMember, SharedLimit, TurnReservation } from './ports/shared-limit.ts'
export { LimitClosedError } from './ports/shared-limit.ts'
export type { BatchLimits, RejectedItem, Sink, WriteResult } from './ports/sink.ts'
export type { ChannelSnapshot, ErrorShare, SnapshotQuery, Snapshots } from './ports/snapshots.ts'
export type { Store } from './ports/store.ts'
export { PlanCancelledError, ReplayExistsError, StoreClosedError } from './ports/store.ts'
export type {
  AttemptTrace,
  EndedAttempt,
  PublishSpan,
  TracedConsumer,
  TracedFunction,
  TraceSpan,
  Tracing,
} from './ports/tracing.ts'
export { consumerGates, type GateConsumer } from './replay/consumer-gates.ts'
export {
  approveReplay,
  cancelReplay,
  pauseReplay,
  type ReplayCommand,
  resumeReplay,
  startReplay,
} from './replay/control.ts'
export { EmptyPlanError } from './replay/empty-plan.ts'
export { ReplayRefusedError, ReplayUndeliveredError } from './replay/errors.ts'
export { type PlanOptions, type PlanProgress, planReplay } from './replay/plan.ts'
export type { PlanRequest } from './replay/plan-options.ts'
export { type RunOptions as ReplayRunOptions, runReplay } from './replay/runner.ts'
export { sinkReplays } from './replay/sink-replays.ts'
export { type AutomaticReplayOptions, startAutomaticReplay } from './replay/start-automatic.ts'
export type { DownstreamAnswer, ReplayEnvironment, ReplayTarget } from './replay/target.ts'
export { type AttemptContext, TimeoutError } from './runtime/attempt/attempt.ts'
export { type Breaker, type BreakerSnapshot, createBreaker } from './runtime/breaker.ts'
export { ClosedError } from './runtime/closed-error.ts'
export { type Consumer, createConsumer } from './runtime/consumer/consumer.ts'
export type { ConsumerOptions } from './runtime/consumer/consumer-options.ts'
export type { HandlerContext } from './runtime/consumer/handler-context.ts'
export { type ConsumerHealth, type HealthReport, healthReport } from './runtime/consumer/health.ts'
export type { Stall } from './runtime/consumer/pauses.ts'
export {
  type MessageDescription,
  type WithDeadLettersOptions,
  type WrappedHandler,
  withDeadLetters,
} from './runtime/consumer/with-dead-letters.ts'
export { createEvent } from './runtime/create-event.ts'
export { createDispatcher, type Dispatcher } from './runtime/dispatcher/dispatcher.ts'
export type { DispatcherHealth, DispatcherStall, SinkHealth } from './runtime/dispatcher/dispatcher-health.ts'
export type { DispatcherOptions } from './runtime/dispatcher/dispatcher-options.ts'
export type { BatchingOptions, BufferOptions, LaneOptions } from './runtime/dispatcher/lane/lane-options.ts'
export type { CriticalOptions } from './runtime/dispatcher/track/critical.ts'
export type { TrackInput, TrackOptions } from './runtime/dispatcher/track/track-input.ts'
export { type SinkOutcome, TrackingError, type TrackResult } from './runtime/dispatcher/track/track-result.ts'
export {
  asJob,
  asRequest,
  type JobOptions,
  type TrackingContext,
} from './runtime/dispatcher/track/tracking-mode.ts'
export { SinkAnswerError } from './runtime/dispatcher/write/sink-answer.ts'
export { failureLog } from './runtime/failure-log.ts'
export {
  type FleetMembership,
  type FleetOptions,
  type FleetStore,
  joinFleet,
} from './runtime/fleet/join-fleet.ts'
export type { FleetDispatcher, FleetLetters } from './runtime/fleet/report.ts'
export { applyPatch, PatchError } from './runtime/json-patch.ts'
export { LetterNotSavedError } from './runtime/letter-saver.ts'
export {
  createRateLimiter,
  createRetryBudget,
  createRetryLimiter,
  type EventLimitOptions,
  type LimiterOwner,
  type RateLimiter,
  type RateLimitOptions,
  type RetryBudget,
  type RetryLimiter,
  type RetryLimitOptions,
} from './runtime/limiters.ts'
export { type LogObserver, type LogObserverOptions, logObserver } from './runtime/log/log-observer.ts'
export { createMetrics, type LiveMetrics, type MetricsOptions } from './runtime/metrics/create-metrics.ts'
export type { GaugeSource, WatchSource } from './runtime/metrics/watched.ts'
export { combineObservers } from './runtime/observe.ts'
export type { CommonOptions } from './runtime/option-rules.ts'
export { createRelay, type RelayFunction, type RelayOptions } from './runtime/relay/relay.ts'
export {
  type Resilient,
  type ResilientHealth,
  type RunOptions,
  resilient,
} from './runtime/resilient/resilient.ts'
export type { ResilientOptions } from './runtime/resilient/resilient-options.ts'
export { createSealing, type SealingOptions } from './runtime/sealing/sealing.ts'
export type { SpillHealth } from './runtime/spill-drainer.ts'
export { tracedBroker } from './runtime/traced-broker.ts'
export type { UserFunctionHealth } from './runtime/user-functions/user-faults.ts'
