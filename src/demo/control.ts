import { type DemoControl, UnknownActionError } from '../server/demo-control.ts'
import type { DemoState, DemoStep } from '../server/schema/demo.ts'
import { type Action, STEPS, type Step } from './steps.ts'
import type { Story } from './story.ts'

const TITLE = 'A shop on a bad day'

/** What a person can make happen: the label of the button, what it does, and when it can be pressed [always]. */
type Button = readonly [label: string, press: (by: string) => Promise<void> | void, isEnabled?: () => boolean]

/** The demo's own buttons: what the story has shown so far, and what a person can make happen in it. */
export function demoControl(story: Story, seed: number): DemoControl {
  const { payments, services, emitting } = story.shop
  const { warehouse } = services
  const { analytics } = emitting
  const canReplay = () => story.milestones.brokenGroup !== undefined && !story.isReplaying
  const buttons: Readonly<Record<Action, Button>> = {
    fix: ['Ship the fix', () => story.ship('2.4.1'), () => payments.release === '2.4.0'],
    break: ['Ship the broken release', () => story.ship('2.4.0'), () => payments.release !== '2.4.0'],
    'sicken-warehouse': [
      'Make the warehouse sick',
      () => story.setHealth('warehouse', 'sick'),
      () => !warehouse.isSick,
    ],
    'heal-warehouse': [
      'Heal the warehouse',
      () => story.setHealth('warehouse', 'well'),
      () => warehouse.isSick,
    ],
    'sicken-analytics': [
      'Make analytics sick',
      () => story.setHealth('analytics', 'sick'),
      () => !analytics.isSick,
    ],
    'heal-analytics': ['Heal analytics', () => story.setHealth('analytics', 'well'), () => analytics.isSick],
    rush: ['Let everyone in at once', () => story.rush()],
    'send-poison': ['Send a poison order', () => story.place('impossible-date')],
    'send-wrong-shape': ['Send an order of the wrong shape', () => story.place('wrong-shape')],
    'send-bad-address': ['Send to a bad address', () => story.place('bad-address')],
    'replay-payments': [
      'Replay the failed payments',
      by => story.startReplay(by, 'asked for in the demo'),
      canReplay,
    ],
  }

  function actionOf(id: Action) {
    const [label, , isEnabled = () => true] = buttons[id]
    return { id, label, enabled: isEnabled() }
  }

  function stepOf({ id, title, text, action, href }: Step): DemoStep {
    const { brokenGroup } = story.milestones
    return {
      id,
      title,
      text,
      done: story.milestones.has(id),
      href: brokenGroup === undefined ? href.replace('/{group}', '') : href.replace('{group}', brokenGroup),
      ...(action && { action: actionOf(action) }),
    }
  }

  const control: DemoControl = {
    state: (): DemoState => ({
      title: TITLE,
      steps: STEPS.map(stepOf),
      facts: {
        seed,
        release: payments.release,
        warehouse: warehouse.isSick ? 'sick' : 'well',
        analytics: analytics.isSick ? 'sick' : 'well',
        startedAt: new Date(story.startedAt).toISOString(),
      },
    }),
    async act(action, by) {
      if (!Object.hasOwn(buttons, action)) throw new UnknownActionError(action, Object.keys(buttons))
      const [, press] = buttons[action as Action]
      await press(by)
      await story.writeDown(`demo.${action}`, by)
      return control.state()
    },
  }
  return control
}
