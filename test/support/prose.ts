import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type ESTree, parseSync, Visitor } from 'vite'
import { ROOT, type SourceFile, sourceFiles } from './source.ts'

/** A piece of text that people read. */
export interface Prose {
  /** From the repository's root. */
  readonly path: string
  readonly line: number
  readonly kind: 'comment' | 'string' | 'title' | 'page'
  readonly text: string
}

const CODE = ['src', 'console/src', 'sim', 'bench', 'examples', 'deploy', 'docs', 'test']
const PAGES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const TITLED = new Set(['describe', 'it', 'test'])
/** Stands for a value in a template and for code in a page, so that no pattern reaches across it. */
const GAP = ' … '

/** The TypeScript files whose prose is read. */
export function codeFiles(): SourceFile[] {
  return CODE.flatMap(sourceFiles).filter(({ path }) => !path.includes('/node_modules/'))
}

/** Every page of the documentation: path and text. */
export function pages(): SourceFile[] {
  const below = ['docs', 'examples', 'src'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.md') && !path.includes('node_modules'))
      .map(path => posix.join(folder, path)),
  )
  return [...PAGES, ...below].map(path => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { path, text, lines: text.split('\n').length - 1 }
  })
}

/** The comments and strings of a file; of a test only the comments and titles, because its other strings are data. */
export function proseOf({ path, text }: SourceFile): Prose[] {
  const { program, comments } = parseSync(path, text)
  const lineAt = lineCounter(text)
  const found: Prose[] = []
  const add = (kind: Prose['kind'], start: number, words: string) => {
    if (/[a-z] [a-z]/i.test(words)) found.push({ path, line: lineAt(start), kind, text: words })
  }
  for (const { start, value } of mergeLines(comments, text)) add('comment', start, value)
  const isTest = path.startsWith('test/') || /\.test\.tsx?$/.test(path)
  if (isTest) {
    new Visitor({
      CallExpression: node => {
        const [title] = node.arguments
        if (title === undefined || !TITLED.has(rootName(node.callee))) return
        if (title.type === 'Literal' && typeof title.value === 'string')
          add('title', title.start, title.value)
        if (title.type === 'TemplateLiteral') add('title', title.start, wordsOf(title))
      },
    }).visit(program)
  } else {
    new Visitor({
      Literal: node => {
        if (typeof node.value === 'string') add('string', node.start, node.value)
      },
      TemplateLiteral: node => add('string', node.start, wordsOf(node)),
      JSXText: node => add('string', node.start, node.value),
    }).visit(program)
  }
  return found
}

/** The paragraphs of a page without its code. */
export function proseOfPage({ path, text }: SourceFile): Prose[] {
  const blank = (code: string) => code.replace(/[^\n]/g, '')
  const words = text.replace(/^( *)```[\s\S]*?^\1```/gm, blank).replace(/`[^`\n]*`/g, GAP)
  const lineAt = lineCounter(words)
  return [...words.matchAll(/(?:^.*\S.*\n?)+/gm)].map(paragraph => ({
    path,
    line: lineAt(paragraph.index),
    kind: 'page' as const,
    text: paragraph[0],
  }))
}

/** Line comments on lines that follow each other are one comment. */
function mergeLines(comments: readonly { value: string; start: number; end: number }[], text: string) {
  const merged: { value: string; start: number; end: number }[] = []
  for (const { value, start, end } of comments) {
    const last = merged.at(-1)
    const isLine = text.startsWith('//', start)
    const words = value.replace(/^[ \t]*\*[ \t]?/gm, '').replace(/`[^`\n]*`/g, GAP)
    if (
      isLine &&
      last &&
      text.startsWith('//', last.start) &&
      /^\n[ \t]*$/.test(text.slice(last.end, start))
    ) {
      last.value += `\n${words}`
      last.end = end
    } else merged.push({ value: words, start, end })
  }
  return merged
}

function wordsOf(template: ESTree.TemplateLiteral): string {
  return template.quasis.map(quasi => quasi.value.cooked ?? quasi.value.raw).join(GAP)
}

/** `it` of `it(…)`, `it.skipIf(…)(…)` and `it.each(…)(…)`. */
function rootName(callee: ESTree.Node): string {
  if (callee.type === 'Identifier') return callee.name
  if (callee.type === 'CallExpression') return rootName(callee.callee)
  if (callee.type === 'MemberExpression') return rootName(callee.object)
  return ''
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  return offset => {
    const next = starts.findIndex(start => start > offset)
    return next === -1 ? starts.length : next
  }
}
