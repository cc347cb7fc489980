import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const MEMBER = fileURLToPath(new URL('./member.ts', import.meta.url))
/** Calls at once in each process: more than can ever be retried, so the limit is always wanted wholly. */
const CALLS = 100

/** What a member has said: the times of its retries, and when it went on alone or was together with the others again. */
export interface MemberReport {
  readonly retries: readonly number[]
  readonly modes: readonly { readonly mode: string; readonly at: number; readonly members: number }[]
}

/** Several processes with one retry limit. */
export class Fleet {
  readonly #members: Member[]

  constructor(url: string, perSecond: number, size: number) {
    this.#members = Array.from({ length: size }, () => new Member(url, perSecond))
  }

  /** All of them run and retry. */
  get isRunning(): boolean {
    return this.#members.every(member => member.told().retries.length > 0)
  }

  /** How the members stand now: none has said that it is alone since it last said that it is together. */
  get isTogether(): boolean {
    return this.#members.every(member => member.mode === 'together')
  }

  get isAlone(): boolean {
    return this.#members.every(member => member.mode === 'alone')
  }

  told(): readonly MemberReport[] {
    return this.#members.map(member => member.told())
  }

  async end(): Promise<readonly MemberReport[]> {
    await Promise.all(this.#members.map(member => member.end()))
    return this.told()
  }
}

class Member {
  readonly #child: ChildProcessByStdio<null, Readable, null>
  #said = ''

  constructor(url: string, perSecond: number) {
    const args = ['--no-warnings', MEMBER, url, String(perSecond), String(CALLS)]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child.stdout.setEncoding('utf8')
    this.#child.stdout.on('data', (piece: string) => {
      this.#said += piece
    })
  }

  get mode(): string {
    return this.#lines('alone', 'together').at(-1)?.[0] ?? 'together'
  }

  told(): MemberReport {
    return {
      retries: this.#lines('retry').map(([, at]) => Number(at)),
      modes: this.#lines('alone', 'together').map(([mode, at, members]) => ({
        mode: mode!,
        at: Number(at),
        members: Number(members),
      })),
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    await ended
  }

  #lines(...words: readonly string[]): string[][] {
    return this.#said
      .split('\n')
      .slice(0, -1)
      .map(line => line.split(' '))
      .filter(([first]) => words.includes(first!))
  }
}

/** How many a second in [from, to). */
export function rateBetween(told: readonly MemberReport[], from: number, to: number): number {
  const inside = told.flatMap(({ retries }) => retries).filter(at => at >= from && at < to)
  return (inside.length * 1_000) / (to - from)
}

/** The most in any half-open second of [from, to). */
export function mostInASecond(told: readonly MemberReport[], from: number, to: number): number {
  const times = told.flatMap(({ retries }) => retries).filter(at => at >= from && at < to)
  times.sort((a, b) => a - b)
  let first = 0
  let most = 0
  for (const [index, at] of times.entries()) {
    while (times[first]! <= at - 1_000) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

export function shares(told: readonly MemberReport[], from: number, to: number): readonly number[] {
  return told.map(({ retries }) => retries.filter(at => at >= from && at < to).length)
}
