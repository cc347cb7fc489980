import * as z from 'zod'
import {
  type Group,
  type GroupDetail,
  type GroupPage,
  group,
  groupDetail,
  groupPage,
  groupPatch,
  groupQuery,
} from '../../schema/groups.ts'
import { askRoute, counted, more, tool } from '../tool.ts'
import { oneRecord, PAGE } from './letters.ts'

const { state, mutedUntil, owner, note } = groupPatch.shape

export const groupTools = [
  tool({
    name: 'list_groups',
    title: 'List groups of dead letters',
    about:
      'Lists groups: dead letters with one cause, with their counts and triage. Start here to find the causes of an outage.',
    right: 'read',
    actions: [],
    input: groupQuery.extend({ limit: PAGE }),
    answer: groupPage,
    run: (call, query) => askRoute<GroupPage>(call, 'GET', '/groups', { query }),
    say: ({ groups, cursor }) => `${counted(groups.length, 'group')} on this page.${more(cursor)}`,
  }),
  tool({
    name: 'get_group',
    title: 'Show a group of dead letters',
    about:
      'Returns one group: cause, counts, what its letters have in common, notes, its latest replays and audit entries.',
    right: 'read',
    actions: [],
    input: oneRecord,
    answer: groupDetail,
    run: (call, { id, store }) =>
      askRoute<GroupDetail>(call, 'GET', '/groups/:id', { params: { id }, query: { store } }),
    say: ({ state, count, waiting, recovered }) =>
      `The group is ${state}: ${counted(count, 'letter')}, ${waiting} waiting, ${recovered} recovered.`,
  }),
  tool({
    name: 'update_group',
    title: 'Change the triage of a group',
    about:
      'Changes the triage of a group: state (acknowledged, muted with mutedUntil, resolved, open), owner, or a note to add.',
    right: 'triage',
    actions: ['group.triage'],
    changes: 'The state, the owner and the notes of the group. A muted group sends no alerts.',
    input: z.strictObject({ ...oneRecord.shape, state, mutedUntil, owner, note }),
    answer: group,
    run: (call, { id, store, ...body }) =>
      askRoute<Group>(call, 'PATCH', '/groups/:id', { params: { id }, query: { store }, body }),
    say: ({ state, notes }) => `The group is ${state} and has ${counted(notes.length, 'note')}.`,
  }),
]
