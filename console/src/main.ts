// The first to run, and small: what the screen needs is on its way before the console itself is read and drawn.
import { prefetch } from './api/client.ts'
import { queriesOf } from './api/screen-queries.ts'
import { now } from './lib/browser-clock.ts'
import { applyTheme } from './lib/preferences.ts'
import { preloadScreen } from './screens/files.ts'

const { pathname, search } = location
applyTheme()
for (const { path, query } of queriesOf(pathname, search, now())) prefetch(path, query)
void import('./console.tsx').then(({ drawConsole }) => drawConsole())
preloadScreen(pathname)
