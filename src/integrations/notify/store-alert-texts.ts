import type { AlertFacts } from '../../core/alert/alert.ts'
import { timeText } from '../../core/event/attributes.ts'
import type { ExpiryNotice, GroupNotice, ReplayNotice } from '../../ports/notifier.ts'

/** A notice about a group, a replay or the retention of a store. */
export type StoreNotice = GroupNotice | ReplayNotice | ExpiryNotice

/** The facts of the alert, before masks, and the id of the thing that it is about. */
export function storeAlertTexts(notice: StoreNotice): AlertFacts & { readonly id: string } {
  switch (notice.kind) {
    case 'group_regressed':
      return groupTexts(notice)
    case 'replay_halted':
    case 'replay_needs_approval':
      return replayTexts(notice)
    case 'letters_expiring':
      return expiryTexts(notice)
  }
}

function groupTexts({ group: { id, title }, channel }: GroupNotice) {
  const name = title ?? `group ${id}`
  return {
    id,
    title: `Resolved group regressed: ${name}`,
    summary: `New letters failed with the cause of a resolved group: ${name}. Look at them, and resolve, acknowledge or mute the group.`,
    group: id,
    channel,
  }
}

function replayTexts({ kind, replay: { id, reason, by, letters, halted } }: ReplayNotice) {
  const what = `The replay${letters === undefined ? '' : ` of ${counted(letters)}`}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : ` (${reason})`}`
  const isHalted = kind === 'replay_halted'
  return {
    id,
    title: isHalted ? `Replay ${id} halted` : `Replay ${id} waits for approval`,
    summary: isHalted
      ? `${what} halted${halted === undefined ? '' : `: ${halted}`}. Resume or cancel it.`
      : `${what} sends nothing until another person approves it.`,
    replay: id,
  }
}

function expiryTexts({ channel, count, isMore, firstAt }: ExpiryNotice) {
  const letters = isMore ? `more than ${count} letters` : counted(count)
  const when = firstAt === undefined ? '' : `, the first after ${timeText(firstAt)}`
  return {
    id: channel,
    title: `Letters of ${channel} expire soon`,
    summary: `Retention will delete ${letters} of ${channel} that nobody has decided about${when}. Replay or discard them before.`,
    channel,
  }
}

function counted(letters: number): string {
  return letters === 1 ? '1 letter' : `${letters} letters`
}
