import { filePathOf, relativePath } from './file-path.ts'

const LINES_MAX = 60
const LINE_MAX = 500
const HEADER_NAME_MAX = 200

/**
 * Returns the first frame of the application in a V8 stack, as `function (file)`. It omits line and column, because they
 * change with every edit, and the folder of the deployment, because it changes with every release.
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

/**
 * Returns the end of the message. Lines of the message may look like frames and may come from outside, so the message is
 * skipped whole.
 */
function headerEnd(stack: string, message: string): number {
  const colon = stack.slice(0, HEADER_NAME_MAX).indexOf(': ')
  if (colon >= 0 && stack.startsWith(message, colon + 2)) return colon + 2 + message.length
  return stack.startsWith(message) ? message.length : 0
}

/** Reads `at name (location)`, `at async name (location)` or `at location`. The location ends with line and column. */
function readFrame(line: string, applicationRoot: string | undefined): string | undefined {
  const text = line.trim()
  if (!text.startsWith('at ')) return undefined
  const body = text.startsWith('at async ') ? text.slice(9) : text.slice(3)
  const open = body.endsWith(')') ? body.indexOf(' (') : -1
  const path = filePathOf(open < 0 ? body : body.slice(open + 2, -1))
  if (path === undefined) return undefined
  return `${functionName(open < 0 ? '' : body.slice(0, open))} (${relativePath(path, applicationRoot)})`
}

/**
 * Removes the type of the receiver. V8 adds it only sometimes: a call has it, and its continuation after `await` may not.
 */
function functionName(text: string): string {
  const alias = text.indexOf(' [as ')
  const plain = (alias < 0 ? text : text.slice(0, alias)).replace(/^(?:Object|Module|Function|Proxy)\./, '')
  return plain === '' ? '<anonymous>' : plain
}
