// What a process holds, asked by the inspector protocol: mcpx itself needs nothing for it.
import { WebSocket } from 'undici'

/**
 * @typedef {object} Held
 * @property {number} heap MiB in use after forced collections.
 * @property {number} entries Entries of all maps and sets together.
 * @property {Record<string, number>} resources Timers, sockets and the like, by kind.
 */

/** @param {string} url Where `--inspect` says it listens. */
export async function attach(url) {
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  let last = 0
  /** @type {Map<number, (message: any) => void>} */
  const waiting = new Map()
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data))
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  /** @param {string} method @param {object} [params] @returns {Promise<any>} */
  const send = (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = ++last
      waiting.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)))
      socket.send(JSON.stringify({ id, method, params }))
    })
  /** @param {string} expression */
  const value = async (expression) =>
    (await send('Runtime.evaluate', { expression, returnByValue: true })).result.value
  /** @param {'Map' | 'Set'} kind */
  const entriesOf = async (kind) => {
    const objectGroup = 'soak'
    const { result } = await send('Runtime.evaluate', { expression: `${kind}.prototype`, objectGroup })
    const { objects } = await send('Runtime.queryObjects', {
      prototypeObjectId: result.objectId,
      objectGroup,
    })
    const { result: sum } = await send('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration:
        'function () { return this.reduce((sum, one) => { try { return sum + one.size } catch { return sum } }, 0) }',
      returnByValue: true,
    })
    await send('Runtime.releaseObjectGroup', { objectGroup })
    return Number(sum.value)
  }
  return {
    /** @returns {Promise<Held>} */
    async held() {
      const entries = (await entriesOf('Map')) + (await entriesOf('Set'))
      // What is only weakly held goes in a later turn than the rest.
      for (let round = 0; round < 3; round++) await value('globalThis.gc()')
      const heap = (await value('process.memoryUsage().heapUsed')) / 2 ** 20
      /** @type {string[]} */
      const active = await value('process.getActiveResourcesInfo()')
      /** @type {Record<string, number>} */
      const resources = {}
      for (const kind of active) resources[kind] = (resources[kind] ?? 0) + 1
      return { heap, entries, resources }
    },
    close: () => socket.close(),
  }
}
