import { hash128 } from '../hash.ts'
import { memoizeRecent } from '../memoize-recent.ts'
import type { CauseChain } from './chain.ts'
import { applicationFrame } from './frames.ts'
import { httpStatusOf } from './http.ts'
import { normalise } from './normalise.ts'
import { bounded, type Thrown, textProperty } from './thrown.ts'

/** Failures with one id form one group. The other fields explain to a person why they belong together. */
export interface Fingerprint {
  readonly id: string
  /** The basis of the id: an explicit key, the place in the code, or the message. */
  readonly rule: 'explicit' | 'frame' | 'message'
  /** The version of the algorithm. Ids of two versions are never compared. */
  readonly version: 1
  /** The text that was hashed to the id. */
  readonly basis: string
}

export const BASIS_MAX = 500
const ID_LENGTH = 16

/**
 * Computes the fingerprint from two errors of the chain: the thrown one, which shows where the attempt ended, and the
 * root cause, which shows why. Errors between them only wrap the cause, and one more wrapper must not create a new group.
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

/** Without a frame and a code, only the message distinguishes causes. */
function describe(link: Thrown, frame: string | undefined, rule: Fingerprint['rule']): string {
  const status = httpStatusOf(link.value)
  const head = [link.name, link.code, status === undefined ? undefined : `HTTP ${status}`]
    .filter(part => part !== undefined)
    .join(' ')
  if (frame !== undefined) return `${head} at ${frame}`
  return rule === 'message' || link.code === undefined ? `${head}: ${normalise(link.message)}` : head
}
