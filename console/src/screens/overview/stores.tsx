import type { StoreHealth } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { Tag } from '../../ui/tags.tsx'

export function Stores({ stores }: { stores: readonly StoreHealth[] }) {
  return (
    <ul className="stack">
      {stores.map(store => (
        <li key={store.name}>
          <div className="row">
            <strong className="external-text">{store.name}</strong>
            <span className="push">
              {store.up ? (
                <Tag tone="good" glyph="check">
                  up
                </Tag>
              ) : (
                <Tag tone="bad" glyph="cross">
                  down
                </Tag>
              )}
            </span>
          </div>
          <div className="quiet small external-text">
            {store.url}
            {store.letters !== undefined && ` · ${counted(store.letters, 'letter')}`}
            {!store.sends && ' · cannot send replays'}
          </div>
          {store.problem && <div className="small external-text">{store.problem}</div>}
        </li>
      ))}
    </ul>
  )
}
