import * as z from 'zod'
import { type AuditPage, auditPage, auditQuery } from '../../schema/audit.ts'
import { type ChannelList, channelList } from '../../schema/channels.ts'
import { type Overview, overview } from '../../schema/overview.ts'
import { askRoute, counted, more, tool } from '../tool.ts'
import { PAGE } from './letters.ts'

const NO_INPUT = z.strictObject({})

export const overviewTools = [
  tool({
    name: 'get_overview',
    title: 'Show the overview',
    about:
      'Returns the summary for a person on call: open groups, waiting letters, inflow, breakers, running replays, stores and alerts. Start here.',
    right: 'read',
    actions: [],
    input: NO_INPUT,
    answer: overview,
    run: call => askRoute<Overview>(call, 'GET', '/overview', {}),
    say: ({ letters, groups, breakers, alerts }) =>
      `${counted(letters.waiting, 'letter')} waiting in ${counted(groups.waiting, 'open group')}. ${counted(
        breakers.open,
        'breaker',
      )} open, ${counted(alerts.length, 'alert')}.`,
  }),
  tool({
    name: 'list_channels',
    title: 'List channels',
    about:
      'Lists the channels that have letters or a living consumer: breakers, pauses, rates, letters and alerts.',
    right: 'read',
    actions: [],
    input: NO_INPUT,
    answer: channelList,
    run: call => askRoute<ChannelList>(call, 'GET', '/channels', {}),
    say: ({ channels }) => `${counted(channels.length, 'channel')}.`,
  }),
  tool({
    name: 'search_audit',
    title: 'Search the audit log',
    about:
      'Lists who did what and when, newest first, filtered by actor, target or action. Use it to reconstruct an incident.',
    right: 'read',
    actions: [],
    input: auditQuery.extend({ limit: PAGE }),
    answer: auditPage,
    run: (call, query) => askRoute<AuditPage>(call, 'GET', '/audit', { query }),
    say: ({ entries, cursor }) =>
      `${counted(entries.length, 'audit entry').replace(/ys$/, 'ies')} on this page.${more(cursor)}`,
  }),
]
