import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { type Found, findPackage } from './debian.ts'
import { WatcherNode } from './watcher-node.ts'

const run = promisify(execFile)

/** Debian's Prometheus, and promtool with it. */
export function findPrometheus(): Promise<Found> {
  return findPackage('prometheus', () => runs('promtool'))
}

export interface ToolOutput {
  readonly code: number
  /** Of both streams. */
  readonly text: string
}

/** What promtool says to these words. */
export function promtool(words: readonly string[], cwd?: string): Promise<ToolOutput> {
  return runTool('promtool', words, cwd)
}

/** A server that is given its whole configuration. */
export function startPrometheus(config: Readonly<Record<string, unknown>>): Promise<WatcherNode> {
  return WatcherNode.start({
    name: 'prometheus',
    binary: 'prometheus',
    async prepare(folder, port) {
      const file = join(folder, 'prometheus.yaml')
      await writeFile(file, stringify(config))
      return [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ]
    },
  })
}

export async function runs(command: string): Promise<boolean> {
  return run(command, ['--version']).then(
    () => true,
    () => false,
  )
}

/** Also when it fails: what it says then is what a test looks at. */
export async function runTool(command: string, words: readonly string[], cwd?: string): Promise<ToolOutput> {
  return run(command, words, { cwd }).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      text: error.stdout + error.stderr,
    }),
  )
}
