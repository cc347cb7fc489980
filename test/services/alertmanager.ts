import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type Found, findPackage } from './debian.ts'
import { runs, runTool, type ToolOutput } from './prometheus.ts'
import { WatcherNode } from './watcher-node.ts'

/** Debian's Alertmanager, and amtool with it. */
export function findAlertmanager(): Promise<Found> {
  return findPackage('prometheus-alertmanager', () => runs('amtool'))
}

/** What amtool says to these words. */
export function amtool(words: readonly string[], cwd?: string): Promise<ToolOutput> {
  return runTool('amtool', words, cwd)
}

/** A server that is given its whole configuration, and looks for no others. */
export function startAlertmanager(config: Readonly<Record<string, unknown>>): Promise<WatcherNode> {
  return WatcherNode.start({
    name: 'alertmanager',
    binary: 'prometheus-alertmanager',
    async prepare(folder, port) {
      const file = join(folder, 'alertmanager.yaml')
      await writeFile(file, stringify(config))
      return [
        `--config.file=${file}`,
        `--storage.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--cluster.listen-address=',
      ]
    },
  })
}
