import type { TriageState } from '../../core/dead-letter/group.ts'
import { choice, countOrAll, time, word } from '../flag.ts'
import { BY, storeFlags } from './common.ts'

const TRIAGE_STATES: readonly TriageState[] = ['open', 'acknowledged', 'muted', 'resolved']

export const groupListFlags = {
  state: choice('STATE', TRIAGE_STATES, 'in this state'),
  channel: word('NAME', 'with letters of this channel'),
  search: word('TEXT', 'with this text in the title'),
  limit: countOrAll('how many to show [100]'),
  cursor: word('CURSOR', 'go on from where the last listing ended'),
  ...storeFlags,
}
export const groupShowFlags = storeFlags
export const triageFlags = {
  owner: word('NAME', 'who sees to it'),
  link: word('URL', 'where more is told, such as a ticket'),
  note: word('TEXT', 'a note for the others'),
  by: BY,
  ...storeFlags,
}
export const muteFlags = { until: time('until when', 'future'), ...triageFlags }
