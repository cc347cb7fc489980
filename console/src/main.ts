// The first to run, and small: what the screen needs is on its way before the console itself is read and drawn.
import { prefetch } from './api/client.ts'
import { queriesOf } from './api/screen-queries.ts'
import { screenPath } from './lib/base-path.ts'
import { now } from './lib/browser-clock.ts'
import { applyTheme } from './lib/preferences.ts'
import { preloadScreen } from './screens/files.ts'

const path = screenPath()
applyTheme()
for (const asked of queriesOf(path, location.search, now())) prefetch(asked.path, asked.query)
void import('./console.tsx').then(({ drawConsole }) => drawConsole())
preloadScreen(path)
