import { type DemoControl, UnknownActionError } from '../server/demo-control.ts'
import type { DemoState, DemoStep } from '../server/schema/demo.ts'
import { ACTIONS, type Action, STEPS, type Step } from './steps.ts'
import type { Story } from './story.ts'

const TITLE = 'A shop on a bad day'

/** The demo's own buttons: what the story has shown so far, and what a person can make happen in it. */
export function demoControl(story: Story, seed: number): DemoControl {
  async function perform(action: Action, by: string): Promise<void> {
    switch (action) {
      case 'fix':
        return story.ship('2.4.1')
      case 'break':
        return story.ship('2.4.0')
      case 'sicken-warehouse':
        return story.setWarehouse('sick')
      case 'heal-warehouse':
        return story.setWarehouse('well')
      case 'sicken-analytics':
        return story.setAnalytics('sick')
      case 'heal-analytics':
        return story.setAnalytics('well')
      case 'rush':
        return story.rush()
      case 'send-poison':
        return story.place('impossible-date')
      case 'send-wrong-shape':
        return story.place('wrong-shape')
      case 'send-bad-address':
        return story.place('bad-address')
      case 'replay-payments':
        return story.startReplay(by, 'asked for in the demo')
    }
  }

  function isEnabled(action: Action): boolean {
    const { shop, milestones } = story
    switch (action) {
      case 'fix':
        return shop.payments.release === '2.4.0'
      case 'break':
        return shop.payments.release !== '2.4.0'
      case 'sicken-warehouse':
        return !shop.services.warehouse.isSick
      case 'heal-warehouse':
        return shop.services.warehouse.isSick
      case 'sicken-analytics':
        return !shop.emitting.analytics.isSick
      case 'heal-analytics':
        return shop.emitting.analytics.isSick
      case 'replay-payments':
        return milestones.brokenGroup !== undefined && !story.isReplaying
      default:
        return true
    }
  }

  function stepOf({ id, title, text, action, href }: Step): DemoStep {
    const { brokenGroup } = story.milestones
    return {
      id,
      title,
      text,
      done: story.milestones.has(id),
      href: brokenGroup === undefined ? href.replace('/{group}', '') : href.replace('{group}', brokenGroup),
      ...(action && { action: { id: action, label: ACTIONS[action], enabled: isEnabled(action) } }),
    }
  }

  const control: DemoControl = {
    state: (): DemoState => ({
      title: TITLE,
      steps: STEPS.map(stepOf),
      facts: {
        seed,
        release: story.shop.payments.release,
        warehouse: story.shop.services.warehouse.isSick ? 'sick' : 'well',
        analytics: story.shop.emitting.analytics.isSick ? 'sick' : 'well',
        startedAt: new Date(story.startedAt).toISOString(),
      },
    }),
    async act(action, by) {
      if (!Object.hasOwn(ACTIONS, action)) throw new UnknownActionError(action, Object.keys(ACTIONS))
      await perform(action as Action, by)
      await story.writeDown(`demo.${action}`, by)
      return control.state()
    },
  }
  return control
}
