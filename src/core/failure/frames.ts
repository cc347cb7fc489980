import { filePathOf, relativePath } from './file-path.ts'

const LINES_MAX = 60
const LINE_MAX = 500
const HEADER_NAME_MAX = 200

/**
 * The first frame of V8's stack text that lies in the application, as `function (file)`. Line and column are left out,
 * for they move with every edit; the deploy folder is left out, for it moves with every release.
 */
export function applicationFrame(
  stack: string,
  message: string,
  applicationRoot: string | undefined,
): string | undefined {
  let from = headerEnd(stack, message)
  for (let line = 0; line < LINES_MAX && from < stack.length; line++) {
    const newline = stack.indexOf('\n', from)
    const end = newline < 0 ? stack.length : newline
    const frame = readFrame(stack.slice(from, Math.min(end, from + LINE_MAX)), applicationRoot)
    if (frame !== undefined) return frame
    from = end + 1
  }
  return undefined
}

/** The message may have lines that look like frames, and it may come from outside: it is stepped over as a whole. */
function headerEnd(stack: string, message: string): number {
  const colon = stack.slice(0, HEADER_NAME_MAX).indexOf(': ')
  if (colon >= 0 && stack.startsWith(message, colon + 2)) return colon + 2 + message.length
  return stack.startsWith(message) ? message.length : 0
}

/** `at name (location)`, `at async name (location)`, `at location`; the location ends with line and column. */
function readFrame(line: string, applicationRoot: string | undefined): string | undefined {
  const text = line.trim()
  if (!text.startsWith('at ')) return undefined
  const body = text.startsWith('at async ') ? text.slice(9) : text.slice(3)
  const open = body.endsWith(')') ? body.indexOf(' (') : -1
  const path = filePathOf(open < 0 ? body : body.slice(open + 2, -1))
  if (path === undefined) return undefined
  return `${functionName(open < 0 ? '' : body.slice(0, open))} (${relativePath(path, applicationRoot)})`
}

/** V8 adds the receiver's type when it knows it, which differs between a call and its continuation after `await`. */
function functionName(text: string): string {
  const alias = text.indexOf(' [as ')
  const plain = (alias < 0 ? text : text.slice(0, alias)).replace(/^(?:Object|Module|Function|Proxy)\./, '')
  return plain === '' ? '<anonymous>' : plain
}
