import { type Files, realFiles } from '../../src/adapters/file/journal/files.ts'

/** The system code of the error that a call ends with, or undefined to run the call. A promise holds the call up. */
export type FileFault = (call: keyof Files, path: string) => string | undefined | Promise<string | undefined>

/** The real file system, except for the calls that end with an error. It remembers the paths of open files. */
export function failingFiles(faultOf: FileFault): Files {
  const paths = new Map<number, string>()
  const failing = Object.fromEntries(
    Object.entries(realFiles).map(([name, work]) => [
      name,
      async (...args: [number | string, ...unknown[]]) => {
        const call = name as keyof Files
        const path = typeof args[0] === 'string' ? args[0] : (paths.get(args[0]) ?? '')
        const code = await faultOf(call, path)
        // A disk that is full takes a part of what it is given.
        if (code !== undefined && call === 'write') await writeHalf(args)
        if (code !== undefined) throw Object.assign(new Error(`${code}: ${call}`), { code })
        const result = await (work as (...args: unknown[]) => Promise<unknown>)(...args)
        if (call === 'open') paths.set(result as number, path)
        return result
      },
    ]),
  )
  return failing as unknown as Files
}

async function writeHalf([fd, bytes, position]: readonly unknown[]): Promise<void> {
  const half = (bytes as Uint8Array).subarray(0, Math.floor((bytes as Uint8Array).length / 2))
  await realFiles.write(fd as number, half, position as number)
}

export interface FullableDisk {
  isFull: boolean
  /** Whether its folder is not there, such as that of a network disk. */
  isAway: boolean
  readonly faultOf: FileFault
}

/** While the disk is full, it takes no bytes, except in place of bytes that it has. */
export function fullableDisk(): FullableDisk {
  const disk: FullableDisk = {
    isFull: false,
    isAway: false,
    faultOf: (call, path) => {
      if (disk.isAway && call === 'identify') return 'ENOENT'
      return disk.isFull && call === 'write' && !path.endsWith('turn') ? 'ENOSPC' : undefined
    },
  }
  return disk
}
