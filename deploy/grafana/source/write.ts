import { writeFile } from 'node:fs/promises'
import { consumer } from './consumer.ts'
import { type Dashboard, dashboardJson } from './dashboard.ts'
import { deadLetters } from './dead-letters.ts'
import { overview } from './overview.ts'
import { sinks } from './sinks.ts'

export const DASHBOARDS: readonly Dashboard[] = [overview, consumer, sinks, deadLetters]

export function fileOf({ name }: Dashboard): URL {
  return new URL(`../${name}.json`, import.meta.url)
}

export function textOf(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboardJson(dashboard), undefined, 2)}\n`
}

/** `npx node deploy/grafana/source/write.ts` writes the files beside this folder. */
if (import.meta.main) for (const each of DASHBOARDS) await writeFile(fileOf(each), textOf(each))
