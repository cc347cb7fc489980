import {
  commandRecords,
  commandRows,
  commandsOf,
  outcomeText,
  resolveLimit,
} from '../../../adapter-kit/fleet/check-commands.ts'
import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { createIdSource } from '../../../core/event/uuid.ts'
import type { CommandRecord, Commands } from '../../../ports/commands.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { ScriptRunner } from '../connection/script.ts'
import type { Keys } from '../keys.ts'
import type { RedisSettings } from '../options.ts'
import {
  type ClaimedBodies,
  claim,
  finish,
  newest,
  ofRequest,
  type PortionOfCommands,
  purge,
  send,
} from './command-scripts.ts'

/** Commands of one script, except for `send`: a few milliseconds in which the server does nothing else. */
const AT_ONCE = 1_000
/** Bytes of one answer. One command more may exceed it. */
const ANSWER_BYTES = 4_194_304
/** Entries of inboxes that one script of a purge deletes. One command more may exceed it. */
const DELETED_AT_ONCE = 5_000

/**
 * Commands, with an inbox for each recipient: a claim reads the inbox of its instance and nothing else.
 *
 * The adapter repeats a claim whose answer was lost, within the time of the call, and gets the same commands. A claim that
 * ends with an error may have claimed commands that nobody executes: they are `unanswered` when their time is over.
 *
 * It has no `onCommand`: the store has no connection for messages of Redis, so instances claim from time to time.
 */
export function redisCommands(
  connection: RedisConnection,
  keys: Keys,
  settings: RedisSettings,
  door: OpenState,
): Commands {
  const ids = createIdSource(settings.random)
  const scripts = new ScriptRunner(connection, keys.of('commands'), door)
  const newId = () => ids(settings.clock.now())
  const repeatedWithinMs = String(Math.ceil(settings.timeoutMs) * 2)

  return {
    /** One script writes all commands, because it is all or none. A thousand keep the server busy for tens of milliseconds. */
    async send(commands, ttlMs) {
      door.requireOpen()
      const rows = commandRows(commands, ttlMs)
      const [first] = rows
      if (first === undefined) return
      const words = rows.flatMap(({ id, request, recipients, body }) => [
        id,
        request,
        recipients.join(' '),
        body,
      ])
      await scripts.runIdempotent(send, [String(first.ttlMs), ...words])
    },

    async claim(instance, limit) {
      door.requireOpen()
      const most = resolveLimit(limit)
      const { bodies: first, isMore } = await claimSome(instance, most)
      const bodies = [...first]
      for (let goesOn = isMore; goesOn && bodies.length < most; ) {
        // The commands of the earlier scripts are claimed, so an error must not lose them.
        const some = await claimSome(instance, most - bodies.length).catch((error: unknown) => {
          if (bodies.length === 0) throw error
          return { bodies: [], isMore: false }
        })
        bodies.push(...some.bodies)
        goesOn = some.isMore
      }
      return commandsOf(bodies)
    },

    async finish(id, instance, outcome) {
      door.requireOpen()
      return await scripts.runIdempotent(finish, [id, instance, outcomeText(outcome), newId()])
    },

    get(request) {
      return recordsOf(Number.POSITIVE_INFINITY, (from, most) =>
        scripts.runIdempotent(ofRequest, [request, from, String(most), String(ANSWER_BYTES)]),
      )
    },

    async list(limit) {
      door.requireOpen()
      return await recordsOf(resolveLimit(limit), (from, most) =>
        scripts.runIdempotent(newest, [from, String(most), String(ANSWER_BYTES)]),
      )
    },

    /** The call is not repeated if its answer is lost, because it would not count what it has deleted. */
    async purge(before) {
      door.requireOpen()
      const bound = String(resolvePurge(before))
      for (let [total, passed] = [0, 0]; ; ) {
        const words = [bound, String(passed), String(AT_ONCE), String(DELETED_AT_ONCE)]
        const [deleted, kept, isMore] = await scripts.run(purge, words)
        total += deleted
        passed += kept
        if (!isMore) return total
      }
    },
  }

  /** With a token of its own, so that the script answers the same if the connection sends it again. */
  function claimSome(instance: string, most: number): Promise<ClaimedBodies> {
    const bounds = [Math.min(most, AT_ONCE), AT_ONCE, ANSWER_BYTES].map(String)
    return scripts.runIdempotent(claim, [instance, newId(), ...bounds, repeatedWithinMs])
  }
}

async function recordsOf(
  limit: number,
  read: (from: string, most: number) => Promise<PortionOfCommands>,
): Promise<readonly CommandRecord[]> {
  const found: CommandRecord[] = []
  for (let from = ''; ; ) {
    const { now, next, rows } = await read(from, Math.min(AT_ONCE, limit - found.length))
    found.push(...commandRecords(rows, now))
    if (next === '' || found.length >= limit) return found
    from = next
  }
}
