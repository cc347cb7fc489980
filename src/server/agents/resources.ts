import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { ToolCall } from './tool.ts'
import { letterTools } from './tools/letters.ts'
import { markAnswer } from './untrusted.ts'

/** The runbooks are part of the package. */
const FOLDER = new URL('../../../docs/runbooks/', import.meta.url)

interface Runbook {
  readonly name: string
  readonly uri: string
  readonly title: string
}

let found: readonly Runbook[] | undefined

/** The runbooks of the alerts. They are read once, because the package does not change. */
export function runbooks(): readonly Runbook[] {
  found ??= readdirSync(FOLDER)
    .filter(file => file.endsWith('.md') && file !== 'README.md')
    .sort()
    .map(file => {
      const name = file.slice(0, -'.md'.length)
      const [, title = name] = /^# (.*)$/m.exec(readFileSync(new URL(file, FOLDER), 'utf8')) ?? []
      return { name: `runbook-${name}`, uri: `lazaret://runbooks/${name}`, title }
    })
  return found
}

export async function readRunbook(uri: string) {
  const file = `${uri.slice('lazaret://runbooks/'.length)}.md`
  const text = await readFile(new URL(file, FOLDER), 'utf8')
  return { contents: [{ uri, mimeType: 'text/markdown', text }] }
}

export const letterResource = {
  template: 'lazaret://letters/{id}',
  title: 'A dead letter',
  about: 'One dead letter as get_dlq_event_detail returns it: masked, with outside data below `untrusted`.',
}

const detail = letterTools.find(({ name }) => name === 'get_dlq_event_detail')!

/** A letter by its URI, by way of the tool that shows one. */
export async function readLetter(call: ToolCall, uri: string, id: string) {
  const letter = markAnswer(detail.output, await detail.run(call, { id }))
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(letter) }] }
}
