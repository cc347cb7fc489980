import type { GateAnswer, GateCheck, Replay, ReplayCounts, ReplayItem } from '../../ports/replays.ts'
import { iso, isoOr, type Json } from '../schema/common.ts'
import type {
  GateCheck as CheckJson,
  ReplayItem as ItemJson,
  PatchOperation,
  Replay as ReplayJson,
  ReplaySummary,
} from '../schema/replays.ts'
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

/** Whose word a gate has. The check is masked. */
export function checkView({ answer, ...check }: GateCheck): CheckJson {
  return {
    ...pick(check, 'gate', 'channel', 'handler', 'sink', 'letters'),
    answer: answerView(answer),
  }
}

function answerView(answer: GateAnswer): CheckJson['answer'] {
  switch (answer.answeredBy) {
    case 'planner':
      return { answeredBy: 'planner', saidAt: iso(answer.saidAt) }
    case 'fleet':
      return {
        ...{ answeredBy: 'fleet', saidAt: iso(answer.saidAt), count: answer.count },
        processes: answer.processes.map(process => pick(process, 'id', 'service', 'version')),
      }
    case 'nobody':
      return { answeredBy: 'nobody', reason: answer.reason }
  }
}

export function problemView({ problem }: Replay): ReplayJson['problem'] {
  return problem && { reason: problem.reason, since: iso(problem.since) }
}

export function patchView({ patch }: Replay): PatchOperation[] | undefined {
  return patch?.map(({ op, path, from, value }) => ({
    op,
    path,
    ...(from === undefined ? {} : { from }),
    ...(value === undefined ? {} : { value: value as Json }),
  }))
}
