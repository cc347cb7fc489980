import { describe, expect, it } from 'vitest'
import { ownFolder } from './file-path.ts'
import { applicationFrame } from './frames.ts'

const frame = (line: string, root?: string) => applicationFrame(`Error: x\n    ${line}`, 'x', root)

describe('the first application frame', () => {
  it.each([
    ['at place (/srv/app/src/orders/place.ts:10:5)', 'place (src/orders/place.ts)'],
    ['at async place (/srv/app/src/orders/place.ts:10:5)', 'place (src/orders/place.ts)'],
    ['at async Object.place (file:///srv/app/src/orders/place.ts:10:5)', 'place (src/orders/place.ts)'],
    ['at new Order (/srv/app/src/order.ts:3:1)', 'new Order (src/order.ts)'],
    ['at Orders.place [as handle] (/srv/app/src/orders.ts:3:1)', 'Orders.place (src/orders.ts)'],
    ['at /srv/app/src/main.ts:1:1', '<anonymous> (src/main.ts)'],
    ['at async /srv/app/src/main.ts:1:1', '<anonymous> (src/main.ts)'],
    ['at file:///srv/app/src/main.ts:1:1', '<anonymous> (src/main.ts)'],
    ['at Object.<anonymous> (/srv/app/src/main.ts:1:1)', '<anonymous> (src/main.ts)'],
    ['at place (C:\\deploy\\app\\src\\orders.ts:10:5)', 'place (src/orders.ts)'],
    ['at place (file:///C:/deploy/app/src/orders.ts:10:5)', 'place (src/orders.ts)'],
    ['at place (webpack://shop/./src/orders.ts:10:5)', 'place (src/orders.ts)'],
    ['at place (/srv/my (old) app/src/orders.ts:10:5)', 'place (src/orders.ts)'],
    ['at place (file:///srv/my%20app/src/orders.ts?t=17:10:5)', 'place (src/orders.ts)'],
    ['at place (/srv/app/dist/index-3fa9c1d2.js:1:99)', 'place (dist/index-#.js)'],
    ['at place (/srv/app/orders.js:1:99)', 'place (orders.js)'],
  ])('B4: %s', (line, expected) => {
    expect(frame(line)).toBe(expected)
  })

  it.each([
    'at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
    'at node:internal/main/run_main_module:36:49',
    'at internal/process/task_queues.js:95:5',
    'at Parser.parse (/srv/app/node_modules/pg-protocol/dist/parser.js:39:38)',
    'at Parser.parse (C:\\app\\node_modules\\pg-protocol\\dist\\parser.js:39:38)',
    'at Array.map (<anonymous>)',
    'at async Promise.all (index 0)',
    'at JSON.parse (native)',
    'at eval (eval at run (/srv/app/src/main.ts:1:1), <anonymous>:1:1)',
    'at wasm://wasm/0001:wasm-function[1]:0x2a',
    'at data:text/javascript,throw/1:1:1',
    'not a frame at all (/srv/app/src/main.ts:1:1)',
  ])('B4: no application frame: %s', line => {
    expect(frame(line)).toBeUndefined()
  })

  it('B4: frames of Node, of packages and of Lazaret itself are stepped over', () => {
    const own = new URL('../../runtime/consumer.ts', import.meta.url).pathname
    const stack = [
      'Error: x',
      '    at parse (/app/node_modules/pg/lib/client.js:1:1)',
      `    at run (${own}:10:2)`,
      `    at run (file://${own}:10:2)`,
      '    at async place (/app/src/orders.ts:4:4)',
      '    at async main (/app/src/main.ts:4:4)',
    ].join('\n')
    expect(applicationFrame(stack, 'x', undefined)).toBe('place (src/orders.ts)')
  })

  it('B4: inside a bundle Lazaret claims no folder as its own', () => {
    expect(ownFolder('/app/dist/server.js')).toBeUndefined()
    expect(ownFolder(undefined)).toBeUndefined()
    expect(ownFolder('/work/lazaret/src/core/failure/file-path.ts')).toBe('/work/lazaret/src/')
    expect(ownFolder('C:\\lazaret\\dist\\chunks\\lazaret-core.js')).toBe('C:/lazaret/dist/')
  })

  it('B4: lines of a message that look like frames are not taken for frames', () => {
    const message = 'bad\n    at evil (/x/src/evil.ts:1:1)'
    const stack = `TypeError [E_X]: ${message}\n    at place (/app/src/orders.ts:4:4)`
    expect(applicationFrame(stack, message, undefined)).toBe('place (src/orders.ts)')
    expect(applicationFrame(`${message}\n    at place (/app/src/orders.ts:4:4)`, message, undefined)).toBe(
      'place (src/orders.ts)',
    )
  })

  it('B4: below the application’s root the whole path counts, whatever the root is', () => {
    const expected = 'place (packages/a/src/orders.ts)'
    expect(frame('at place (/srv/r17/packages/a/src/orders.ts:1:1)', '/srv/r17')).toBe(expected)
    expect(frame('at place (/srv/r18/packages/a/src/orders.ts:1:1)', '/srv/r18/')).toBe(expected)
    expect(frame('at place (D:\\r18\\packages\\a\\src\\orders.ts:1:1)', 'D:\\r18')).toBe(expected)
    expect(frame('at place (file:///srv/r18/packages/a/src/orders.ts:1:1)', 'file:///srv/r18')).toBe(expected)
    expect(frame('at place (/else/where/src/orders.ts:1:1)', '/srv/r17')).toBe('place (src/orders.ts)')
    expect(frame('at place (/srv/app/src/orders.ts:1:1)', '/')).toBe('place (src/orders.ts)')
  })

  it('B4: an endless stack is read only so far', () => {
    const stack = `Error: x\n${'    at f (node:internal/x:1:1)\n'.repeat(100_000)}    at f (/app/src/a.ts:1:1)`
    expect(applicationFrame(stack, 'x', undefined)).toBeUndefined()
  })
})
