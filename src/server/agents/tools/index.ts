import type { Tool } from '../tool.ts'
import { groupTools } from './groups.ts'
import { letterTools } from './letters.ts'
import { overviewTools } from './overview.ts'
import { replayTools } from './replays.ts'

/** Every tool. No tool changes the configuration, roles or retention, purges letters, or reveals a masked value. */
export const TOOLS: readonly Tool[] = [...overviewTools, ...groupTools, ...letterTools, ...replayTools]
