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

export interface Link {
  readonly page: string
  /** The file or folder that the link names, from the repository's root. */
  readonly path: string
  /** The part after `#`, or the empty string. */
  readonly anchor: string
}

/** The relative links of a page, those to its own headings included. Code is not searched. */
export function relativeLinks(page: Page): Link[] {
  const prose = withoutBlocks(page.text).replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(([, target]) => {
    const [file = '', anchor = ''] = target!.split('#')
    const path = file === '' ? page.path : posix.join(posix.dirname(page.path), file)
    return { page: page.path, path: path.replace(/\/$/, ''), anchor }
  })
}

/** The anchors of a page's headings, made as GitHub makes them. */
export function anchorsOf({ text }: Page): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading] of withoutBlocks(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = slugOf(heading!)
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}

function slugOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

function withoutBlocks(text: string): string {
  return text.replaceAll(FENCED, '')
}
