import { type Resolved, resolveOptions } from '../options/resolve.ts'
import { custom, flag, list, optional, withDefault } from '../options/rules.ts'
import {
  PERSONAL_NAMES,
  PERSONAL_PATHS,
  PERSONAL_TEXTS,
  SECRET_NAMES,
  SECRET_TEXTS,
} from './built-in-masks.ts'
import { type MaskPath, parseMaskPath } from './mask-path.ts'
import { MASK, maskPhones, maskSecrets } from './mask-text.ts'
import { bareName, createNameMatcher } from './name-matcher.ts'

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
  /** Whether the built-in masks of personal data (names, phones, streets) apply too [as `defaults`]. */
  readonly personalData?: boolean | undefined
}

/** A set of masks, in words that a person can check. */
export interface MaskSet {
  readonly isActive: boolean
  readonly names: readonly string[]
  readonly paths: readonly string[]
  /** What is masked in texts: in words for a built-in set, expressions for your own. */
  readonly texts: readonly string[]
}

/** Which masks there are, and which of them apply. */
export interface MaskRules {
  /** Built in: passwords, tokens, cards, e-mail addresses. */
  readonly secrets: MaskSet
  /** Built in: names, phones and streets of people. */
  readonly personalData: MaskSet
  /** Those that the options add. */
  readonly own: MaskSet
}

/** Compiled masks, made by `createMasks`. */
export interface Masks {
  readonly paths: readonly MaskPath[]
  isMaskedName(name: string): boolean
  maskText(text: string): string
  /** True if nothing is masked, so that callers can skip the search for masked values. */
  readonly hidesNothing?: boolean | undefined
  /** What `createMasks` was told, for the settings of the console. Absent in masks of another origin. */
  readonly rules?: MaskRules | undefined
}

const RULES = {
  paths: withDefault(list(custom(isPath, "give a path such as 'payload.card.number' or '**.secret'")), []),
  names: withDefault(list(custom(isName, "give a property's name, with * for any characters")), []),
  patterns: withDefault(list(custom(isRegExp, 'give a regular expression')), []),
  defaults: withDefault(flag(), true),
  personalData: optional(flag()),
}

/** Makes masks that hide secrets in payloads and texts. Give them to the server, the notifier or the log observer. */
export function createMasks(options?: MaskOptions): Masks {
  const given: Resolved<typeof RULES> = resolveOptions('masks', RULES, options)
  const { patterns, defaults, personalData = defaults } = given
  const rules: MaskRules = {
    secrets: { isActive: defaults, names: SECRET_NAMES, paths: [], texts: SECRET_TEXTS },
    personalData: {
      ...{ isActive: personalData, names: PERSONAL_NAMES, paths: PERSONAL_PATHS, texts: PERSONAL_TEXTS },
    },
    own: { isActive: true, names: given.names, paths: given.paths, texts: patterns.map(String) },
  }
  const active = [rules.secrets, rules.personalData, rules.own].filter(({ isActive }) => isActive)
  const maskedNames = active.flatMap(({ names }) => names)
  const paths = active.flatMap(each =>
    // Your own paths say exactly which names they mean. The built-in ones know one of many spellings.
    each.paths.map(path => parseMaskPath(path, each === rules.own ? undefined : createNameMatcher)!),
  )
  // Copies with the flag `g` only, because a sticky or global expression keeps a position between calls and would miss
  // matches.
  const expressions = patterns.map(
    ({ source, flags }) => new RegExp(source, `${flags.replace(/[gy]/g, '')}g`),
  )
  return {
    paths,
    hidesNothing: maskedNames.length + paths.length + patterns.length === 0,
    rules,
    isMaskedName: createNameMatcher(maskedNames),
    maskText(text) {
      const withoutSecrets = defaults ? maskSecrets(text) : text
      const masked = personalData ? maskPhones(withoutSecrets) : withoutSecrets
      return expressions.reduce((rest, expression) => rest.replace(expression, MASK), masked)
    },
  }
}

export const DEFAULT_MASKS: Masks = createMasks()

function isPath(value: unknown): value is string {
  return typeof value === 'string' && parseMaskPath(value) !== undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && bareName(value) !== ''
}

function isRegExp(value: unknown): value is RegExp {
  return value instanceof RegExp
}
