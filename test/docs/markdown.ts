import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { ROOT } from '../support/source.ts'

export interface Page {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly text: string
}

export interface CodeBlock {
  readonly page: string
  /** The line of the page on which the code begins, counted from 1. */
  readonly line: number
  readonly language: string
  /** The words after the language. */
  readonly info: string
  readonly text: string
}

const FENCED = /^```(\w*) ?(.*)\n([\s\S]*?)^```$/gm

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') }
}

/** The Markdown pages below a folder of the repository. */
export function pagesBelow(folder: string): Page[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md'))
    .map(path => readPage(posix.join(folder, path)))
}

export function codeBlocks({ path, text }: Page): CodeBlock[] {
  return [...text.matchAll(FENCED)].map(match => ({
    page: path,
    line: text.slice(0, match.index).split('\n').length + 1,
    language: match[1]!,
    info: match[2]!,
    text: match[3]!,
  }))
}
