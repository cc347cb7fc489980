import { type ComponentType, lazy, useEffect } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { after } from '../lib/browser-clock.ts'
import { Empty } from '../ui/notes.tsx'
import { FILES, preloadScreens } from './files.ts'
import { GroupsScreen } from './groups/groups-screen.tsx'
import { OverviewScreen } from './overview/overview-screen.tsx'

const IDLE_MS = 1_500

const GroupScreen = later(FILES['/groups/:id'], 'GroupScreen')
const LettersScreen = later(FILES['/letters'], 'LettersScreen')
const LetterScreen = later(FILES['/letters/:id'], 'LetterScreen')
const ReplaysScreen = later(FILES['/replays'], 'ReplaysScreen')
const PlanScreen = later(FILES['/replays/new'], 'PlanScreen')
const ReplayScreen = later(FILES['/replays/:id'], 'ReplayScreen')
const ChannelsScreen = later(FILES['/channels'], 'ChannelsScreen')
const ServicesScreen = later(FILES['/services'], 'ServicesScreen')
const AuditScreen = later(FILES['/audit'], 'AuditScreen')
const SettingsScreen = later(FILES['/settings'], 'SettingsScreen')

/** The way in is in the first load; the screens behind it come when they are asked for, or when the page is calm. */
function later<Name extends string, Props>(
  load: () => Promise<{ readonly [N in Name]: ComponentType<Props> }>,
  name: Name,
) {
  return lazy(async () => ({ default: (await patiently(load))[name] }))
}

/** A server that is away for a moment does not break a screen; one that has another console by now does. */
async function patiently<T>(load: () => Promise<T>): Promise<T> {
  for (const waitMs of [1_000, 3_000, 6_000]) {
    try {
      return await load()
    } catch {
      await new Promise<void>(resume => after(waitMs, resume))
    }
  }
  return await load()
}

export function Screens() {
  useEffect(() => after(IDLE_MS, preloadScreens), [])
  return (
    <Switch>
      <Route path="/">
        <Redirect to="/groups" replace />
      </Route>
      <Route path="/overview" component={OverviewScreen} />
      <Route path="/groups" component={GroupsScreen} />
      <Route path="/groups/:id">{({ id }) => <GroupScreen key={id} id={id} />}</Route>
      <Route path="/letters" component={LettersScreen} />
      <Route path="/letters/:id">{({ id }) => <LetterScreen key={id} id={id} />}</Route>
      <Route path="/replays" component={ReplaysScreen} />
      <Route path="/replays/new" component={PlanScreen} />
      <Route path="/replays/:id">{({ id }) => <ReplayScreen key={id} id={id} />}</Route>
      <Route path="/channels" component={ChannelsScreen} />
      <Route path="/services" component={ServicesScreen} />
      <Route path="/audit" component={AuditScreen} />
      <Route path="/settings" component={SettingsScreen} />
      <Route>
        <Empty title="Page not found">Check the address, or start from the groups.</Empty>
      </Route>
    </Switch>
  )
}
