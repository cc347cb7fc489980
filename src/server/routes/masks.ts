import type { MaskSet } from '../../core/dead-letter/masks.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { type MaskSet as MaskSetJson, maskList } from '../schema/masks.ts'

const NOTHING: MaskSet = { isActive: false, names: [], paths: [], texts: [] }

export const maskRoutes = [
  routeFor<Pick<ServerContext, 'masks'>>()({
    method: 'GET',
    path: `${API}/masks`,
    about:
      'Returns which masks apply to payloads and texts: the built-in ones, and those of the configuration.',
    answer: maskList,
    handle({ context: { masks } }) {
      const { rules } = masks
      return {
        known: rules !== undefined,
        secrets: view(rules?.secrets),
        personalData: view(rules?.personalData),
        own: view(rules?.own),
      }
    },
  }),
]

function view({ isActive, names, paths, texts }: MaskSet = NOTHING): MaskSetJson {
  return { active: isActive, names: [...names], paths: [...paths], texts: [...texts] }
}
