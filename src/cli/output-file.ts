import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { writeAll } from '../adapter-kit/file-system.ts'
import { type FollowedPath, followPath } from '../adapter-kit/followed-path.ts'
import { FailedError, type Io, type Out } from './io.ts'

/** What a command writes has unmasked payloads, so only the owner may read the file. */
const OWNER_ONLY = 0o600

/** Where a command writes its result, as `--out` names it. */
interface OutputFile {
  /** For the messages of the command, so that they do not end up in the result. */
  readonly messages: Out
  write(text: string): Promise<void>
  finish(): Promise<void>
  /** Removes what was written, where that is possible. */
  abandon(): Promise<void>
}

/**
 * Opens the output. A file appears, or is replaced, as a whole after the last byte. Devices, pipes and descriptors such as
 * `/dev/stdout` stay what they are, and text goes into them at once. A link stays too: it stands for what is behind it.
 */
export async function openOutput(io: Io, named: string): Promise<OutputFile> {
  const { path, descriptor } = await followPath(resolve(io.cwd, named))
  try {
    if (descriptor !== undefined) return await openDescriptor(io, path, descriptor)
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (found !== undefined && !found.isFile() && !found.isDirectory())
      return appending(await open(path, 'w'), io.stdout)
    return await openAtomic(io, path, named)
  } catch (error) {
    throw new FailedError(
      `cannot write ${named} (${codeOf(error)}); check that its folder exists and that you may write to it`,
    )
  }
}

/**
 * The descriptor itself is written to, because it shares its position with the others that write there, such as the shell of
 * `{ echo header; lazaret …; echo footer; } > file`.
 */
async function openDescriptor(
  io: Io,
  path: string,
  descriptor: NonNullable<FollowedPath['descriptor']>,
): Promise<OutputFile> {
  if (descriptor === 'foreign') return appending(await open(path, 'a'), io.stderr)
  // It fails here if nothing is open there, and not after the first letters.
  await stat(path)
  const standard = descriptor === 1 ? io.stdout : descriptor === 2 ? io.stderr : undefined
  return {
    messages: descriptor === 2 ? io.stdout : io.stderr,
    write: text => standard?.write(text) ?? writeAll(descriptor, Buffer.from(text), 'end'),
    finish: async () => {},
    abandon: async () => {},
  }
}

function appending(file: FileHandle, messages: Out): OutputFile {
  return {
    messages,
    write: text => file.appendFile(text),
    finish: () => file.close(),
    abandon: () => file.close().catch(() => {}),
  }
}

async function openAtomic(io: Io, path: string, named: string): Promise<OutputFile> {
  // A name of its own for each command: two commands that write to one file must not share the unfinished one.
  const unfinished = `${path}.${randomUUID()}.part`
  const file = await open(unfinished, 'wx', OWNER_ONLY)
  const remove = () => rm(unfinished, { force: true })
  return {
    messages: io.stdout,
    write: text => file.appendFile(text),
    async finish() {
      await file.sync()
      await file.close()
      await rename(unfinished, path).catch(async (error: NodeJS.ErrnoException) => {
        await remove()
        const problem =
          error.code === 'EISDIR' ? `${named} is a folder` : `cannot write ${named} (${error.code})`
        throw new FailedError(`${problem}; give the name of a file`)
      })
    },
    async abandon() {
      await file.close().catch(() => {})
      await remove()
    },
  }
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code
}
