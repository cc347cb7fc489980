import { matchesPattern } from '../options/pattern.ts'
import { type Resolved, resolveOptions } from '../options/resolve.ts'
import { custom, flag, list, withDefault } from '../options/rules.ts'
import { type MaskPath, parseMaskPath } from './mask-path.ts'
import { MASK, maskSecrets } from './mask-text.ts'

/**
 * Names of properties whose values are masked everywhere. The comparison ignores case and punctuation, and a final `s`;
 * `*` stands for any characters.
 */
export const DEFAULT_MASKED_NAMES: readonly string[] = [
  '*password',
  '*passwd',
  '*passphrase',
  '*secret',
  '*token',
  '*authorization',
  '*cookie',
  '*credential',
  '*api_key',
  '*access_key',
  '*secret_key',
  '*private_key',
  '*signing_key',
  '*session_id',
  '*card_number',
  '*connection_string',
  'pwd',
  'pass',
  'auth',
  'jwt',
  'otp',
  'pin',
  'cvv',
  'cvc',
  'pan',
  'ssn',
  'iban',
]

/** The limit of the cache of names. Payloads of one channel repeat their names. */
const MAX_NAMES_KNOWN = 5_000

/** What to hide in payloads and texts. */
export interface MaskOptions {
  /** Paths to mask, beginning at the event: `payload.card.number`, `*.password`, `items[*].token`, `**.secret` [none]. */
  readonly paths?: readonly string[] | undefined
  /** Names of properties to mask, wherever they occur, with `*` for any characters [none]. */
  readonly names?: readonly string[] | undefined
  /** Parts of texts to mask [none]. Give expressions that take linear time. */
  readonly patterns?: readonly RegExp[] | undefined
  /** Whether the built-in names and patterns (cards, bearer tokens, e-mail addresses …) apply too [true]. */
  readonly defaults?: boolean | undefined
}

/** Compiled masks, made by `createMasks`. */
export interface Masks {
  readonly paths: readonly MaskPath[]
  isMaskedName(name: string): boolean
  maskText(text: string): string
  /** True if nothing is masked, so that callers can skip the search for masked values. */
  readonly hidesNothing?: boolean | undefined
}

const RULES = {
  paths: withDefault(list(custom(isPath, "give a path such as 'payload.card.number' or '**.secret'")), []),
  names: withDefault(list(custom(isName, "give a property's name, with * for any characters")), []),
  patterns: withDefault(list(custom(isRegExp, 'give a regular expression')), []),
  defaults: withDefault(flag(), true),
}

/** Makes masks that hide secrets in payloads and texts. Give them to the server, the notifier or the log observer. */
export function createMasks(options?: MaskOptions): Masks {
  const { paths, names, patterns, defaults }: Resolved<typeof RULES> = resolveOptions('masks', RULES, options)
  const maskedNames = [...(defaults ? DEFAULT_MASKED_NAMES : []), ...names].map(bare)
  // Copies with the flag `g` only, because a sticky or global expression keeps a position between calls and would miss
  // matches.
  const expressions = patterns.map(
    ({ source, flags }) => new RegExp(source, `${flags.replace(/[gy]/g, '')}g`),
  )
  const isMasked = (form: string) => maskedNames.some(masked => matchesPattern(masked, form))
  const known = new Map<string, boolean>()
  return {
    paths: paths.map(path => parseMaskPath(path)!),
    hidesNothing: !defaults && paths.length + names.length + patterns.length === 0,
    isMaskedName(name) {
      const before = known.get(name)
      if (before !== undefined) return before
      const plain = bare(name)
      const answer = isMasked(plain) || (plain.endsWith('s') && isMasked(plain.slice(0, -1)))
      if (known.size >= MAX_NAMES_KNOWN) known.clear()
      known.set(name, answer)
      return answer
    },
    maskText(text) {
      const masked = defaults ? maskSecrets(text) : text
      return expressions.reduce((rest, expression) => rest.replace(expression, MASK), masked)
    },
  }
}

export const DEFAULT_MASKS: Masks = createMasks()

function bare(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}*]/gu, '')
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && parseMaskPath(value) !== undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && bare(value) !== ''
}

function isRegExp(value: unknown): value is RegExp {
  return value instanceof RegExp
}
