import { readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

/** Where a path leads. */
export interface FollowedPath {
  /** The path behind all links. There may be nothing yet. */
  readonly path: string
  /**
   * Set if the path names a descriptor, as `/dev/stdout` does: its number in this process, or `foreign` for one of another
   * process. Somebody else has opened what is behind it and goes on writing there, so it must stay in its place.
   */
  readonly descriptor: number | 'foreign' | undefined
}

/** As many as Linux follows. */
const MAX_LINKS = 40
/** Linux has the descriptors of all processes in `/proc`, other systems have those of the process itself in `/dev/fd`. */
const DESCRIPTOR = /^\/(?:dev|proc\/(?<pid>\d+)(?:\/task\/\d+)?)\/fd\/(?<number>\d+)$/

/**
 * Follows the links of a path up to a descriptor or to what is not a link. `realpath` does not stop at a descriptor, and fails if
 * nothing is behind a link.
 */
export async function followPath(given: string): Promise<FollowedPath> {
  let path = given
  for (let links = 0; links < MAX_LINKS; links++) {
    const folder = await realpath(dirname(path)).catch(() => dirname(path))
    const { pid, number } = DESCRIPTOR.exec(join(folder, basename(path)))?.groups ?? {}
    if (number !== undefined) {
      const isOwn = pid === undefined || Number(pid) === process.pid
      return { path, descriptor: isOwn ? Number(number) : 'foreign' }
    }
    const target = await readlink(path).catch(() => undefined)
    if (target === undefined) break
    path = resolve(folder, target)
  }
  return { path, descriptor: undefined }
}
