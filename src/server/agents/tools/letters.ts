import * as z from 'zod'
import { oneId, whichStore } from '../../routes/letters.ts'
import { limit } from '../../schema/common.ts'
import {
  type DecidedLetter,
  decidedLetter,
  type LetterDetail,
  type LetterPage,
  letterDetail,
  letterPage,
  letterQuery,
  reasonBody,
} from '../../schema/letters.ts'
import { askRoute, counted, more, tool } from '../tool.ts'

export const oneRecord = z.strictObject({ ...oneId.shape, ...whichStore.shape })
export const PAGE = limit(100, 20)

export const letterTools = [
  tool({
    name: 'list_dlq_events',
    title: 'List dead letters',
    about:
      'Lists events that a service gave up on (dead letters), newest failure first, with filters. Use it to find which events of a channel or group failed.',
    right: 'read',
    actions: [],
    input: letterQuery.extend({ limit: PAGE }),
    answer: letterPage,
    run: (call, query) => askRoute<LetterPage>(call, 'GET', '/dead-letters', { query }),
    say: ({ letters, cursor }) => `${counted(letters.length, 'dead letter')} on this page.${more(cursor)}`,
  }),
  tool({
    name: 'get_dlq_event_detail',
    title: 'Show a dead letter',
    about:
      'Returns one dead letter: the event with its payload and headers, masked, every attempt with its error, and whether a replay would send it.',
    right: 'read',
    actions: [],
    input: oneRecord,
    answer: letterDetail,
    run: (call, { id, store }) =>
      askRoute<LetterDetail>(call, 'GET', '/dead-letters/:id', { params: { id }, query: { store } }),
    say: ({ state, cycles, destination }) =>
      `The letter is ${state}, after ${counted(cycles.length, 'cycle')} of attempts. ${
        destination.obstacle === undefined ? 'A replay would send it.' : 'A replay would skip it now.'
      }`,
  }),
  tool({
    name: 'discard_dlq_event',
    title: 'Discard a dead letter',
    about:
      'Discards one dead letter whose event need not be handled. The letter stays visible. Events of the same key that wait for it continue.',
    right: 'discard',
    actions: ['letter.discard'],
    changes: 'The letter becomes `discarded`. A person can reopen it.',
    isDestructive: true,
    input: z.strictObject({ ...oneRecord.shape, ...reasonBody.shape }),
    answer: decidedLetter,
    run: (call, { id, store, reason }) =>
      askRoute<DecidedLetter>(call, 'POST', '/dead-letters/:id/discard', {
        params: { id },
        query: { store },
        body: { reason },
      }),
    say: ({ state, stillBlocked }) =>
      [
        `The letter is ${state}. A person can reopen it in the console.`,
        ...(stillBlocked?.problems ?? []),
      ].join(' '),
  }),
]
