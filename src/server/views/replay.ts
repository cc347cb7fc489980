import { maskForDisplay } from '../../core/dead-letter/mask.ts'
import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { GateAnswer, GateCheck, Replay, ReplayCounts, ReplayItem } from '../../ports/replays.ts'
import { iso, isoOr, type Json } from '../schema/common.ts'
import type {
  GateCheck as CheckJson,
  ReplayItem as ItemJson,
  PatchOperation,
  Replay as ReplayJson,
  ReplaySummary,
} from '../schema/replays.ts'
import { masksAt } from './payload-masks.ts'
import { pick } from './pick.ts'

export function replaySummary(store: string, replay: Replay, counts: ReplayCounts): ReplaySummary {
  return {
    ...pick(replay, 'id', 'state', 'reason', 'createdBy', 'count', 'hash', 'stage', 'stateReason', 'by'),
    ...pick(replay, 'needsApproval', 'approvedBy'),
    store,
    createdAt: iso(replay.createdAt),
    findings: { ...replay.findings },
    counts: { ...counts },
    recoveredShare: recoveredShare(counts),
    stages: [...replay.stages],
    startedAt: isoOr(replay.startedAt),
    endedAt: isoOr(replay.endedAt),
    approvedAt: isoOr(replay.approvedAt),
  }
}

function recoveredShare({
  recovered,
  failed_same_cause,
  failed_new_cause,
}: ReplayCounts): number | undefined {
  const ended = recovered + failed_same_cause + failed_new_cause
  return ended === 0 ? undefined : recovered / ended
}

/** `reason` is masked. */
export function itemView(item: ReplayItem, reason: string | undefined): ItemJson {
  return {
    ...pick(item, 'position', 'letterId', 'decision', 'status', 'cycle'),
    reason,
    sentAt: isoOr(item.sentAt),
    endedAt: isoOr(item.endedAt),
  }
}

/** Whose word a gate has. The reason why nobody answered can quote an error of a process, so it is masked. */
export function checkView({ answer, ...check }: GateCheck, masks: Masks): CheckJson {
  return {
    ...pick(check, 'gate', 'channel', 'handler', 'sink', 'letters'),
    answer: answerView(answer, masks),
  }
}

function answerView(answer: GateAnswer, masks: Masks): CheckJson['answer'] {
  switch (answer.answeredBy) {
    case 'planner':
      return { answeredBy: 'planner', saidAt: iso(answer.saidAt) }
    case 'fleet':
      return {
        ...{ answeredBy: 'fleet', saidAt: iso(answer.saidAt), count: answer.count },
        processes: answer.processes.map(process => pick(process, 'id', 'service', 'version')),
      }
    case 'nobody':
      return { answeredBy: 'nobody', reason: masks.maskText(answer.reason) }
  }
}

/** The problem can quote an error of a process, so it is masked. */
export function problemView({ problem }: Replay, masks: Masks): ReplayJson['problem'] {
  return problem && { reason: masks.maskText(problem.reason), since: iso(problem.since) }
}

/** Masks the values of a patch like the payload paths that they are written to. */
export function patchView({ patch }: Replay, masks: Masks): PatchOperation[] | undefined {
  return patch?.map(({ op, path, from, value }) => ({
    op,
    path,
    ...(from === undefined ? {} : { from }),
    ...(value === undefined ? {} : { value: writtenView(value, masksAt(masks, path)) }),
  }))
}

function writtenView(value: Json, masks: Masks | undefined): Json {
  if (value === null) return null
  return masks === undefined ? MASK : maskForDisplay(value, masks)
}
