import { hash128 } from '../hash.ts'
import { memoizeRecent } from '../memoize-recent.ts'
import type { CauseChain } from './chain.ts'
import { applicationFrame } from './frames.ts'
import { httpStatusOf } from './http.ts'
import { normalise } from './normalise.ts'
import { bounded, type Thrown, textProperty } from './thrown.ts'

/** Failures with one id form one group. The rest of it says why, to a person who doubts that they belong together. */
export interface Fingerprint {
  readonly id: string
  /** What the failure was told by: a key it was given, its place in the code, or its message. */
  readonly rule: 'explicit' | 'frame' | 'message'
  /** Of the algorithm. Ids of two versions are never compared. */
  readonly version: 1
  /** The text that was hashed. */
  readonly basis: string
}

export const BASIS_MAX = 500
const ID_LENGTH = 16

/**
 * Two errors of a chain count: the one that was thrown, for where the attempt ended, and the root of its causes, for
 * why. Those between only handed it on, and one more wrapper must not make a new group.
 */
export function fingerprintOf(
  chain: CauseChain,
  explicit: string | undefined,
  applicationRoot: string | undefined,
): Fingerprint {
  if (explicit !== undefined) return make(explicit, 'explicit')
  const [thrown] = chain
  const root = chain.at(-1)!
  const links = root === thrown ? [thrown] : [thrown, root]
  const frames = links.map(link => frameOf(link, applicationRoot))
  const rule = frames.some(frame => frame !== undefined) ? 'frame' : 'message'
  return make(links.map((link, index) => describe(link, frames[index], rule)).join(' ← '), rule)
}

const make = memoizeRecent(
  (text, rule: Fingerprint['rule']): Fingerprint => {
    const basis = bounded(text, BASIS_MAX)
    return Object.freeze({ id: hash128(`${rule}\n${basis}`).slice(0, ID_LENGTH), rule, version: 1, basis })
  },
  (one, other) => one === other,
)

const applicationFrameOf = memoizeRecent(
  (stack, { message, root }: { readonly message: string; readonly root: string | undefined }) =>
    applicationFrame(stack, message, root),
  (one, other) => one.message === other.message && one.root === other.root,
)

function frameOf({ value }: Thrown, applicationRoot: string | undefined): string | undefined {
  const stack = textProperty(value, 'stack')
  return stack === undefined
    ? undefined
    : applicationFrameOf(stack, { message: textProperty(value, 'message') ?? '', root: applicationRoot })
}

/** Where there is neither a frame nor a code, the message alone can tell one cause from another. */
function describe(link: Thrown, frame: string | undefined, rule: Fingerprint['rule']): string {
  const status = httpStatusOf(link.value)
  const head = [link.name, link.code, status === undefined ? undefined : `HTTP ${status}`]
    .filter(part => part !== undefined)
    .join(' ')
  if (frame !== undefined) return `${head} at ${frame}`
  return rule === 'message' || link.code === undefined ? `${head}: ${normalise(link.message)}` : head
}
