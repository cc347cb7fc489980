import { plainText } from './plain-text.ts'

/** People know a process by its host and process id. */
export function processName({ host, pid }: { readonly host: string; readonly pid: number }): string {
  return `${plainText(host)}, pid ${pid}`
}
