import { readdirSync, readFileSync } from 'node:fs'

// What Linux says of processes, in /proc.

/** Linux counts CPU time for programs in hundredths of a second on every architecture. */
const TICKS_PER_SECOND = 100
/** Fields of /proc/PID/stat behind the name: the state is the first, and its number in proc(5) is 3. */
const PARENT = 1
/** Its own, for programs and for the kernel, and those of its children that ended. */
const TICKS = [11, 12, 13, 14]

function statOf(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

function sum(fields: readonly string[], places: readonly number[]): number {
  return places.reduce((total, place) => total + Number(fields[place] ?? 0), 0)
}

/** The processes below this one that live, with those below them. */
export function descendantsOf(pid: number): readonly number[] {
  const all = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const children = Map.groupBy(all.map(Number), other => Number(statOf(other)?.[PARENT]))
  const below = (parent: number): readonly number[] =>
    (children.get(parent) ?? []).flatMap(child => [child, ...below(child)])
  return below(pid)
}

/** The CPU time of a process and of all below it, with those that have ended. */
export function cpuSeconds(pid: number): number {
  const ticks = [pid, ...descendantsOf(pid)].map(each => sum(statOf(each) ?? [], TICKS))
  return ticks.reduce((total, each) => total + each, 0) / TICKS_PER_SECOND
}

/** The process below this one with such a name, such as `chromium`. */
export function descendantNamed(pid: number, start: string): number {
  const found = descendantsOf(pid).find(each => nameOf(each).startsWith(start))
  if (found === undefined) throw new Error(`bench: no process named ${start} runs`)
  return found
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8')
  } catch {
    return ''
  }
}

/** A line of /proc/PID/FILE in MB, such as `VmRSS` of `status`. A process that has ended has none. */
export function memoryMb(pid: number, file: 'status' | 'smaps_rollup', name: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/${file}`, 'utf8')
    return (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1_024) / 1e6
  } catch {
    return 0
  }
}
