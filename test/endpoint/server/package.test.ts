// The library as it is installed: what importing it loads, and what its types say. Needs the build.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'
import { afterAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'mcpx-server-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Every module that the import of an entry loads, as Node tells it to a loader: paths in the project, names of others. */
function loadedBy(entry: string): string[] {
  const loader = join(folder, 'loader.mjs')
  writeFileSync(
    loader,
    `import { writeSync } from 'node:fs'
     export async function load(url, context, next) { writeSync(1, url + '\\n'); return next(url, context) }`,
  )
  const program = `import { register } from 'node:module'
    register(${JSON.stringify(pathToFileURL(loader).href)})
    await import(${JSON.stringify(entry)})`
  const args = ['--input-type=module', '--eval', program]
  // What a test run loads into every process is none of the package's.
  const { NODE_OPTIONS: _, ...env } = process.env
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' })
  const urls = stdout.split('\n').filter((line) => line !== '')
  if (urls.length === 0) throw new Error(`nothing was loaded: ${stderr}`)
  return urls.map((url) =>
    url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)).split(sep).join('/') : url,
  )
}

const isOwn = (path: string): boolean =>
  /^dist\/(base|spec|wire|era|endpoint\/server)\/[\w/-]+\.js$/.test(path)

test('mcpx/server/fetch loads nothing of Node and no package', () => {
  const loaded = loadedBy('mcpx/server/fetch')
  expect(loaded[0]).toBe('dist/endpoint/server/fetch.js')
  expect(loaded.filter((path) => !isOwn(path))).toEqual([])
  expect(loaded).not.toContain('dist/endpoint/server/node.js')
})

test('mcpx/server loads no package, and of Node only streams', () => {
  const loaded = loadedBy('mcpx/server')
  expect(loaded[0]).toBe('dist/endpoint/server/index.js')
  expect(loaded.filter((path) => !isOwn(path))).toEqual(['node:stream'])
})

test('the rest of the package is not to be had', () => {
  const program = `await import('mcpx/dist/endpoint/index.js')`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED')
})

test('the types fit what frameworks call handlers', () => {
  const code = `
    import { createServer } from 'node:http'
    import express from 'express'
    import fastify from 'fastify'
    import { Hono } from 'hono'
    import { modernEraHook, needs, withModernEra } from 'mcpx/server'
    import type { ModernEraOptions } from 'mcpx/server'
    import { withModernEra as withModernEraFetch } from 'mcpx/server/fetch'

    interface Found { content: { type: 'text'; text: string }[] }
    const options: ModernEraOptions = {
      serverInfo: { name: 'a', version: '1' },
      methods: {
        'tools/call': async ({ name }, { clientCapabilities, signal, log }): Promise<Found> => {
          if (clientCapabilities['elicitation'] === undefined) throw needs('elicitation')
          log({ level: 'info', data: signal.aborted })
          return { content: [{ type: 'text', text: String(name) }] }
        },
      },
    }
    createServer(withModernEra((request, response) => response.end(request.url), options))
    const app = express()
    app.post('/mcp', express.json(), withModernEra((request: express.Request, response: express.Response, next: express.NextFunction) => {
      if (request.body) response.json({}); else next()
    }, options))
    fastify().post('/mcp', { preParsing: modernEraHook(options) }, async () => ({}))
    new Hono().all('/mcp', (context) => withModernEraFetch(() => new Response(), options)(context.req.raw))
    // @ts-expect-error: methods are functions
    withModernEra(() => {}, { serverInfo: { name: 'a', version: '1' }, methods: { 'tools/list': 1 } })
    // @ts-expect-error: there are five modes
    withModernEra(() => {}, { ...options, mode: 'on' })
  `
  const path = join(ROOT, 'consumer.ts')
  const settings: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
    noEmit: true,
    // Of the frameworks' own declarations only their use is checked.
    skipLibCheck: true,
  }
  const host = ts.createCompilerHost(settings)
  const fileExists = host.fileExists.bind(host)
  const getSourceFile = host.getSourceFile.bind(host)
  host.fileExists = (name) => name === path || fileExists(name)
  host.getSourceFile = (name, target) =>
    name === path ? ts.createSourceFile(name, code, target) : getSourceFile(name, target)
  const program = ts.createProgram([path], settings, host)
  const found = [...program.getSemanticDiagnostics(), ...program.getGlobalDiagnostics()]
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
  const ours = program
    .getSourceFiles()
    .filter(({ fileName }) => /endpoint\/server\/(index|fetch)\.d\.ts$/.test(fileName))
  expect(ours).toHaveLength(2)
})
