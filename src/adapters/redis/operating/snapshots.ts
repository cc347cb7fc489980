import type { Door } from '../../../adapter-kit/door.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import { listRows, portionsOf, purgeRows, rowOf } from '../../../adapter-kit/snapshots/rows.ts'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../../ports/snapshots.ts'
import type { RedisConnection, SendOptions } from '../connection/connection.ts'
import { run, type Script } from '../connection/script.ts'
import type { Keys } from '../keys.ts'
import { list, listChannels, purge, put } from './snapshot-scripts.ts'

/** Written by one script: a few milliseconds in which the server does nothing else. */
const WRITTEN_AT_ONCE = 500

export class RedisSnapshots implements Snapshots {
  readonly #connection: RedisConnection
  readonly #root: string
  readonly #door: Door

  constructor(connection: RedisConnection, keys: Keys, door: Door) {
    this.#connection = connection
    this.#root = keys.of('snapshots')
    this.#door = door
  }

  async append(snapshots: readonly ChannelSnapshot[]): Promise<void> {
    this.#door.requireOpen()
    for (const portion of portionsOf(resolveSnapshots(snapshots), WRITTEN_AT_ONCE))
      await this.#ask(put, portion.flatMap(rowOf).map(String))
  }

  async list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    return await listRows(
      {
        channels: () => this.#ask(listChannels, []),
        bodies: (channels, { after, before, perChannel }) =>
          this.#ask(list, [String(after), String(before), String(perChannel), ...channels]),
      },
      query,
    )
  }

  /** Not repeated when its answer is lost: asked again, it would not count what it has deleted. */
  async purge(before: number): Promise<number> {
    const bound = String(resolvePurge(before))
    return await purgeRows(most => this.#run(purge, [bound, String(most)]))
  }

  #ask<T>(script: Script<T>, args: readonly string[]): Promise<T> {
    return this.#run(script, args, { again: true })
  }

  async #run<T>(script: Script<T>, args: readonly string[], options?: SendOptions): Promise<T> {
    this.#door.requireOpen()
    return run(this.#connection, script, [this.#root], args, options)
  }
}
