import { expect, it } from 'vitest'
import type { Command } from '../../ports/commands.ts'
import { commandRecords, commandsOf } from './check-commands.ts'

const COMMAND: Command = {
  ...{ v: 1, id: 'c1', request: 'r1', recipients: ['a'], by: 'ann' },
  task: { kind: 'pause', channel: 'orders' },
}

it.each<[what: string, body: string]>([
  ['is not JSON', 'not json'],
  ['is not an object', 'null'],
  ['is of a later version', JSON.stringify({ ...COMMAND, v: 2 })],
  ['has no task', JSON.stringify({ ...COMMAND, task: undefined })],
  ['has a task without a kind', JSON.stringify({ ...COMMAND, task: {} })],
  ['has no recipients', JSON.stringify({ ...COMMAND, recipients: undefined })],
  ['has no sender', JSON.stringify({ ...COMMAND, by: undefined })],
])('B17: a command that %s does not hold up the others', (_, body) => {
  const bodies = [body, JSON.stringify(COMMAND)]
  expect(commandsOf(bodies)).toEqual([COMMAND])
  const rows = bodies.map(each => ({ body: each, sentAt: 10, ttlMs: 100 }))
  expect(commandRecords(rows, 20)).toEqual([
    { command: COMMAND, state: 'waiting', sentAt: 10, expiresAt: 110 },
  ])
})

it.each(['not json', 'null', '{"ok":"yes"}'])('B17: a command whose outcome is %s has failed', outcome => {
  const row = { body: JSON.stringify(COMMAND), sentAt: 10, ttlMs: 100, claimedBy: 'a', claimedAt: 11 }
  expect(commandRecords([{ ...row, endedAt: 12, outcome }], 20)).toMatchObject([
    { state: 'failed', outcome: { ok: false, error: 'this version cannot read the outcome' } },
  ])
})

it.each([
  [20, 9],
  [11, 0],
  [5, 6],
])('B18: at %d a command that was claimed at 11 was claimed %d ms ago', (now, claimedAgoMs) => {
  const row = { body: JSON.stringify(COMMAND), sentAt: 10, ttlMs: 100, claimedBy: 'a', claimedAt: 11 }
  expect(commandRecords([row], now)).toMatchObject([{ claimedAt: 11, claimedAgoMs }])
})
