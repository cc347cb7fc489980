import { useEffect } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { after } from '../lib/browser-clock.ts'
import { Empty } from '../ui/notes.tsx'
import { FILES, preloadScreens } from './files.ts'
import { GroupsScreen } from './groups/groups-screen.tsx'
import { lateScreen } from './late-screen.tsx'
import { OverviewScreen } from './overview/overview-screen.tsx'

const IDLE_MS = 1_500

const GroupScreen = lateScreen(FILES['/groups/:id'], 'GroupScreen')
const LettersScreen = lateScreen(FILES['/letters'], 'LettersScreen')
const CompareScreen = lateScreen(FILES['/letters/compare'], 'CompareScreen')
const LetterScreen = lateScreen(FILES['/letters/:id'], 'LetterScreen')
const ReplaysScreen = lateScreen(FILES['/replays'], 'ReplaysScreen')
const PlanScreen = lateScreen(FILES['/replays/new'], 'PlanScreen')
const ReplayScreen = lateScreen(FILES['/replays/:id'], 'ReplayScreen')
const ChannelsScreen = lateScreen(FILES['/channels'], 'ChannelsScreen')
const ServicesScreen = lateScreen(FILES['/services'], 'ServicesScreen')
const AuditScreen = lateScreen(FILES['/audit'], 'AuditScreen')
const SettingsScreen = lateScreen(FILES['/settings'], 'SettingsScreen')

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
      <Route path="/letters/compare" component={CompareScreen} />
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
