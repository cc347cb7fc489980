import { useQueryClient } from '@tanstack/react-query'
import { useMe } from '../../api/queries.ts'
import { keepToken, readToken } from '../../api/token.ts'
import type { Me } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { theme, usePreference, zone } from '../../lib/preferences.ts'
import { TokenForm } from '../../shell/door.tsx'
import { Button } from '../../ui/buttons.tsx'
import { Segments } from '../../ui/fields.tsx'
import { Trouble, Waiting } from '../../ui/notes.tsx'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { Permissions } from './permissions.tsx'
import { TraceAddress } from './trace-address.tsx'

export function SettingsScreen() {
  const { data, error, refetch } = useMe()
  return (
    <Page name="Settings" lead="Who you are here, what you may do, and how this browser shows it.">
      {error && <Trouble error={error} onRetry={refetch} />}
      {data === undefined ? (
        !error && <Waiting rows={8} />
      ) : (
        <div className="halves">
          <div className="stack">
            <Panel title="Who you are">
              <WhoIAm me={data} />
            </Panel>
            <Looks />
            <Panel title="Traces">
              <TraceAddress />
            </Panel>
            <Panel title="Token">
              <Token />
            </Panel>
          </div>
          <Panel title="What you may do" bare>
            <Permissions me={data} />
          </Panel>
        </div>
      )}
    </Page>
  )
}

function WhoIAm({ me }: { me: Me }) {
  return (
    <Facts
      of={[
        ['name', plainText(me.name)],
        ['role', me.role],
        ['changes', me.readOnly ? 'none: the server is read-only' : 'allowed, as listed'],
        ['replays', me.needsApproval ? 'need a second person' : 'need no second person'],
        ...me.stores.map(({ name, url }) => [`store ${name}`, plainText(url)] as const),
        ['version', me.version],
      ]}
    />
  )
}

function Looks() {
  const chosenTheme = usePreference(theme)
  const chosenZone = usePreference(zone)
  return (
    <Panel title="How it looks">
      <div className="stack">
        <div className="row">
          <span className="setting">Theme</span>
          <Segments
            label="Theme"
            value={chosenTheme}
            of={[
              ['system', 'As the system'],
              ['light', 'Light'],
              ['dark', 'Dark'],
            ]}
            onChange={chosen => theme.set(chosen)}
          />
        </div>
        <div className="row">
          <span className="setting">Times</span>
          <Segments
            label="Times"
            value={chosenZone}
            of={[
              ['utc', 'UTC'],
              ['local', 'Local'],
            ]}
            onChange={chosen => zone.set(chosen)}
          />
        </div>
      </div>
    </Panel>
  )
}

function Token() {
  const client = useQueryClient()
  const hasToken = readToken() !== undefined
  return (
    <div className="stack">
      <p className="quiet small">
        {hasToken
          ? 'This tab has a token.'
          : 'This tab has no token: the server knows you by the address you come from.'}
      </p>
      <TokenForm />
      {hasToken && (
        <div className="row">
          <Button
            onPress={() => {
              keepToken(undefined)
              void client.resetQueries()
            }}
          >
            Forget the token
          </Button>
        </div>
      )}
    </div>
  )
}
