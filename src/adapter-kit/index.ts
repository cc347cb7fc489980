// What adapters share: checks of queries and options, cursors, delivery bookkeeping, timers, reconnecting. An adapter that
// lives outside this package is written with the same parts.
export { changeLetter } from '../core/dead-letter/change.ts'
export { requireChannels } from '../core/event/channel.ts'
export { decodeEvent, encodeEvent } from '../core/event/json.ts'
export { replayOf, withoutForeignReplays } from '../core/event/replay-headers.ts'
export { type Resolved, resolveOptions } from '../core/options/resolve.ts'
export {
  callable,
  custom,
  integer,
  list,
  milliseconds,
  number,
  oneOf,
  optional,
  type Rule,
  text,
  withDefault,
} from '../core/options/rules.ts'
export { clockRule, delay, equalJitter, randomRule, settlesWithin, steadyTime } from '../ports/clock.ts'
export { plainCodec } from '../ports/codec.ts'
export { decodeAttempts, encodeAttempts } from './delivery/attempt-history.ts'
export { BrokerWork, type OpeningSubscription } from './delivery/broker-work.ts'
export { StallReporter } from './delivery/stalls.ts'
export { subscribeRules } from './delivery/subscribe-options.ts'
export { type AttemptLog, EMPTY_LOG, TrackedDelivery } from './delivery/tracked-delivery.ts'
export { expiryEntry } from './expiry.ts'
export {
  type CommandRow,
  commandRecords,
  commandRows,
  commandsOf,
  isOver,
  type NewCommandRow,
  newlyOver,
  outcomeText,
  resolveLimit,
} from './fleet/check-commands.ts'
export { type InstanceRow, instancesOf, isAlive, reportRow } from './fleet/check-report.ts'
export { readEntries, type StoredEntry, storedEntry } from './journal-entries.ts'
export { ClientMissingError, loadClient, requireClient } from './load-client.ts'
export { PendingWork } from './pending-work.ts'
export { PollLoop } from './poll-loop.ts'
export { matchesAuditQuery, readEntryNumber, resolveAuditQuery } from './query/audit-query.ts'
export {
  decodeCursor,
  decodeTimedPosition,
  encodeCursor,
  encodeTimedPosition,
  type Listing,
} from './query/cursor.ts'
export {
  examinedHandlers,
  examinedStats,
  examinedTimeline,
  examinedVersions,
  isExamined,
  listExamined,
} from './query/examined-letters.ts'
export { compareGroups, groupCursor, matchesGroup, resolveGroupQuery } from './query/group-query.ts'
export {
  compareLetters,
  firstFailedAt,
  isByTime,
  type LetterOrder,
  type LetterPosition,
  letterPosition,
  NEWEST_FIRST,
  orderOf,
} from './query/letter-order.ts'
export {
  letterCursor,
  matchesFilter,
  type ResolvedLetterFilter,
  type ResolvedLetterQuery,
  readLetterCursor,
  resolveLetterFilter,
  resolveLetterQuery,
  searchedTexts,
} from './query/letter-query.ts'
export { countByHandler, letterStats } from './query/letter-stats.ts'
export { resolveTimeline, Timeline } from './query/letter-timeline.ts'
export { pageOf } from './query/page.ts'
export { resolveSnapshotQuery, selectSnapshots } from './query/snapshot-query.ts'
export { ReconnectingClient } from './reconnecting-client.ts'
export { sealedAudit } from './sealed/audit.ts'
export { sealedCommands } from './sealed/commands.ts'
export { sealedReplays } from './sealed/replays.ts'
export { SerialQueue } from './serial-queue.ts'
export { resolveSnapshots } from './snapshots/check.ts'
export { withAudit } from './with-audit.ts'
export { SharedWriteBatcher, WriteBatcher } from './write-batcher.ts'
