import { type Theme, theme, usePreference, zone } from '../lib/preferences.ts'
import { Icon } from '../ui/icons.tsx'

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const GLYPHS = { system: 'screen', light: 'sun', dark: 'moon' } as const

/** The two choices that are wanted in the middle of something else. Settings has them in words. */
export function DisplaySwitches() {
  const chosenTheme = usePreference(theme)
  const chosenZone = usePreference(zone)
  return (
    <div className="switches">
      <button
        type="button"
        aria-label={`Times in ${chosenZone === 'utc' ? 'UTC' : 'local time'}; switch to ${chosenZone === 'utc' ? 'local time' : 'UTC'}`}
        onClick={() => zone.set(chosenZone === 'utc' ? 'local' : 'utc')}
      >
        {chosenZone === 'utc' ? 'UTC' : 'Local'}
      </button>
      <button
        type="button"
        aria-label={`Theme: ${chosenTheme}; switch to ${NEXT[chosenTheme]}`}
        title={`Theme: ${chosenTheme}`}
        onClick={() => theme.set(NEXT[chosenTheme])}
      >
        <Icon name={GLYPHS[chosenTheme]} />
      </button>
    </div>
  )
}
