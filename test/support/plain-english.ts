import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeFiles, type Prose, pages, proseOf, proseOfPage } from './prose.ts'
import { ROOT, type SourceFile } from './source.ts'

export interface Rule {
  readonly name: string
  readonly pattern: RegExp
  /** Why the words are avoided, and the better ones. */
  readonly advice: string
}

export interface Finding {
  readonly rule: Rule
  readonly path: string
  readonly line: number
  readonly words: string
}

/** The page lists the words that the project avoids, so it has to name them. */
const GLOSSARY = 'docs/glossary.md'

/** These pages may name what was renamed. */
const FORMER_NAMES = ['CHANGELOG.md', 'docs/reference/renamed-names.md']

/** These files name the words in order to forbid them. */
const SELF = ['test/support/plain-english.ts', 'test/plain-english.test.ts']

/** The SQL of released migrations stays as it is, byte for byte. */
const RELEASED_SQL = 'src/adapters/postgres/schema/'

/**
 * Words of the third column of the glossary that also have an ordinary meaning ("the end of a line", "a Redis cluster").
 * Only a reader can tell which one is meant, so the check leaves them out.
 */
const ORDINARY = new Set([
  'back again',
  'alarm',
  'other end',
  ...`entry item packet body content topic queue transport bus worker subscriber listener callback processor visit try go end
  confirm stock shard place bookmark bridge class sort final rules pause noise gate slot ticket cluster healthy shut testing
  throttle why hash signature bucket issue done isolation past lifetime overflow sweep redrive draft wave round destination
  home book memory hold life picture spy tap telling driver plug socket tell report drain output hub pipe bundle allowance brake
  tripped`.split(/\s+/),
])

/** Names of earlier versions that were private metaphors or had several meanings. */
const DROPPED_NAMES =
  `letGo wayBack WayBack waysBack NoWayBackError Door Desk Blow Burial Annals Surroundings furnish sicken
  Mishap Trouble Gathering Gatherings GroupTalk LetterBox Steadiness EventAtTheDoor ToldElsewhere Handovers
  AS_MANY_AS_THE_CLIENT_HANDS_OVER`.split(/\s+/)

const CONJUNCTION =
  'while|when|if|that|which|where|wherever|until|after|before|since|because|once|as|whose|who|unless|than|what|how|whether'
const VERB = 'is|are|was|were|has|have|had|can|cannot|could|may|must|will|does|did|came|comes|went'
const SECOND_VERB = 'is|are|was|were|has|have|stays|goes|comes|remains|waits|counts|must|may|can|cannot|will'

export const RULES: readonly Rule[] = [
  ...glossaryRules(),
  {
    name: 'is no',
    pattern:
      /(?<!\bthere\s+)\b(?:is|are|was|were)\s+no\s+(?!longer|more|less|fewer|later|earlier|older|newer|sooner|better|worse|larger|smaller|shorter|other|different|good)[a-z]/gi,
    advice: '"is not a …" is the usual negation: "is not valid JSON", not "is no JSON"',
  },
  {
    name: 'is none',
    pattern: /(?<!\bthere\s+)\b(?:is|are|was|were)\s+none\b/gi,
    advice: 'repeat the noun: "is not a letter", "does not exist"',
  },
  phrase('mend', 'mend|mends|mending', 'the word is old; "fix"'),
  phrase('whoever', 'whoever', 'name the actor: the caller, the consumer, the operator'),
  {
    name: 'What … is',
    pattern: new RegExp(
      `(?:\\bWhat|(?<=: )what)\\s+(?:${VERB})\\b(?:(?!\\b(?:${CONJUNCTION})\\b)[^.,;:?!…]){0,80}?\\s(?:${SECOND_VERB})\\b`,
      'g',
    ),
    advice:
      'a relative clause is the subject; name the thing: "The API masks payloads", not "What is shown is masked"',
  },
  {
    name: 'Whatever …',
    pattern: /\bWhatever\b/g,
    advice: 'a relative clause begins the sentence; name the thing: "Every error", "Any other file"',
  },
  phrase('for ever', 'for ever', '"forever", "permanently", "without limit"'),
  phrase('look after', '(?:look|looks|looked|looking) after', '"own", "be responsible for"'),
  phrase('at it', '(?:is|are|being|be) at it', '"works on it"'),
  phrase('own accord', 'of (?:its|their) own accord', '"automatically"'),
  phrase('all the same', 'all the same(?! \\w)', 'the phrase has two meanings; "anyway", "still" or "equal"'),
  phrase('shall', 'shall|ought', '"must" for a duty, "will" for the future, "should" for advice'),
  phrase('so that … may', 'so that [^.,;:]{1,60} may(?! be\\b)', '"so that … can"'),
  phrase('in the clear', 'in the clear', '"in plain text", "unencrypted"'),
  phrase('anew', 'anew', 'the word is old; "again", "newly" or a verb with re-: "reopen", "reread"'),
  phrase('in vain', 'in vain', '"without success", "without effect"'),
  phrase(
    'sick',
    "(?<!ship's )sick|sicken|sickens|heals|healed",
    'a service is not ill; "failing", "unhealthy", "recovers"',
  ),
  phrase('first life', '(?:first|second|next|earlier|latest|last) life', 'the glossary says "cycle"'),
  phrase('turned away', '(?:turn|turns|turned|turning) away', '"refuse"'),
  phrase('hear of', '(?:hear|hears|heard) of', '"is notified of", "gets", "receives"'),
  phrase('in hand', 'in hand', '"open" or "in flight"'),
  phrase("nobody's", "nobody's", 'say what happens instead: "is not counted", "must not appear in a log"'),
  phrase('be had', 'be had|to be had', '"is available"'),
]

/** This rule reads the code as well, the others read prose alone. */
const NAMES: Rule = {
  name: 'dropped name',
  pattern: new RegExp(`\\b(?:${DROPPED_NAMES.join('|')})\\b`, 'g'),
  advice: 'the name was dropped; docs/glossary.md has the word for it',
}

/** Where the texts of the project break a rule. */
export function findings(allCode = codeFiles(), allPages = pages()): Finding[] {
  const code = allCode.filter(({ path }) => !SELF.includes(path))
  const docs = allPages.filter(({ path }) => path !== GLOSSARY)
  const inCode = code
    .filter(mayBreakARule)
    .flatMap(proseOf)
    .filter(({ path, kind }) => kind !== 'string' || !path.startsWith(RELEASED_SQL))
  const whole = [...code, ...docs.filter(({ path }) => !FORMER_NAMES.includes(path))]
  return [
    ...[...inCode, ...docs.flatMap(proseOfPage)].flatMap(prose =>
      RULES.flatMap(rule => matches(rule, prose)),
    ),
    ...whole.flatMap(({ path, text }) => matches(NAMES, { path, text, line: 1 })),
  ]
}

/** Parsing every file would take seconds, so only those are parsed that have the words of a rule anywhere. */
function mayBreakARule({ text }: SourceFile): boolean {
  const joined = text.replace(/\n[ \t]*(?:\*|\/\/)?[ \t]*/g, ' ')
  return RULES.some(({ pattern }) => joined.search(pattern) !== -1)
}

function matches(rule: Rule, { path, line, text }: Omit<Prose, 'kind'>): Finding[] {
  return [...text.matchAll(rule.pattern)].map(({ 0: words, index }) => ({
    rule,
    path,
    line: line + (text.slice(0, index).match(/\n/g)?.length ?? 0),
    words: words.replace(/\s+/g, ' '),
  }))
}

function phrase(name: string, words: string, advice: string): Rule {
  return { name, pattern: new RegExp(`\\b(?:${words.replaceAll(' ', '\\s+')})\\b`, 'gi'), advice }
}

/** One rule for each word of the third column of the glossary. */
function glossaryRules(): Rule[] {
  const rows = readFileSync(join(ROOT, GLOSSARY), 'utf8').matchAll(/^\| ([a-z][^|]*) \|[^|]*\| ([^|]*) \|$/gm)
  const better = new Map<string, string[]>()
  for (const [, word = '', dropped = ''] of rows)
    for (const one of dropped
      .replace(/\([^)]*\)/g, '')
      .split(',')
      .map(text => text.trim()))
      if (one !== '' && !ORDINARY.has(one)) better.set(one, [...(better.get(one) ?? []), word])
  return Array.from(better, ([dropped, words]) =>
    phrase(
      `glossary: ${dropped}`,
      `${dropped}s?`,
      `the glossary says ${words.map(word => `"${word}"`).join(' or ')}`,
    ),
  )
}
