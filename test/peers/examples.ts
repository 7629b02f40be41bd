// The four example servers: how to reach each directly, its newest revision, and what is asked of it.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'jsonc-parser'
import { openRaw } from './clients.ts'
import type { Address, Command, JsonObject } from './peer.ts'
import { ROOT, startProgram } from './processes.ts'
import type { Revision } from './raw.ts'
import { survey } from './survey.ts'
import type { Plan, Survey } from './survey.ts'

interface Example {
  readonly address: Address
  readonly newest: Revision
  readonly plan: Plan
}

export interface Examples extends AsyncDisposable {
  readonly servers: Readonly<Record<ServerName, Example>>
  /** examples/mcpx.json, working from any folder. */
  readonly config: JsonObject
}

export const SERVERS = ['everything', 'files', 'units', 'tea'] as const
export type ServerName = (typeof SERVERS)[number]

const PLANS: Readonly<Record<ServerName, Plan>> = {
  everything: {
    calls: [
      ['echo', { message: 'Grüße, 世界 🌍' }],
      ['get-sum', { a: 2, b: 40 }],
      ['get-sum', { a: 'two', b: 40 }],
      ['get-structured-content', { location: 'Chicago' }],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-resource-links', { count: 2 }],
      ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
      ['get-tiny-image', {}],
    ],
    prompts: [
      ['simple-prompt', {}],
      ['args-prompt', { city: 'Zürich', state: 'ZH' }],
      ['completable-prompt', { department: 'Sales', name: 'Eve' }],
      ['resource-prompt', { resourceType: 'Text', resourceId: '1' }],
    ],
    reads: ['demo://resource/static/document/features.md', 'demo://resource/dynamic/text/7'],
    completions: [
      [{ type: 'ref/prompt', name: 'completable-prompt' }, 'department', 'S'],
      [{ type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' }, 'resourceId', '7'],
    ],
  },
  files: {
    calls: [
      ['list_directory', { path: '.' }],
      ['read_text_file', { path: 'poem.txt' }],
      ['read_text_file', { path: '../../package.json' }],
      ['search_files', { path: '.', pattern: '*.txt' }],
    ],
    prompts: [],
    reads: [],
    completions: [],
  },
  units: {
    calls: [
      ['convert', { value: 26.2, from: 'mile', to: 'kilometre' }],
      ['convert', { value: 1, from: 'cubit', to: 'metre' }],
      ['text_stats', { text: 'one two\nthree' }],
    ],
    prompts: [['explain_unit', { unit: 'mile', audience: 'an expert' }]],
    reads: ['units://lengths', 'units://about', 'units://lengths/foot'],
    completions: [
      [{ type: 'ref/prompt', name: 'explain_unit' }, 'audience', 'a'],
      [{ type: 'ref/resource', uri: 'units://lengths/{unit}' }, 'unit', 'm'],
    ],
  },
  tea: {
    calls: [['brewing', { tea: 'sencha' }]],
    prompts: [['recommend', { mood: 'calm' }]],
    reads: ['tea://menu', 'tea://leaf', 'tea://teas/assam'],
    completions: [
      [{ type: 'ref/prompt', name: 'recommend' }, 'mood', 'c'],
      [{ type: 'ref/resource', uri: 'tea://teas/{name}' }, 'name', 'a'],
    ],
  },
}

/** Starts what has to run before anybody connects: the one server that is on HTTP. */
export async function openExamples(): Promise<Examples> {
  const modern = await startProgram(['examples/modern-server.mjs'])
  const text = readFileSync(join(ROOT, 'examples', 'mcpx.json'), 'utf8')
  const file = parse(text.replace('${MCPX_EXAMPLE_MODERN_URL}', modern.line)) as {
    mcpServers: Record<ServerName, { url: string } | Command>
  }
  const addresses = Object.fromEntries(
    Object.entries(file.mcpServers).map(([name, server]) => [
      name,
      'url' in server ? server : absolute(server),
    ]),
  ) as Record<ServerName, Address>
  const example = (name: ServerName, newest: Revision): Example => ({
    address: addresses[name],
    newest,
    plan: PLANS[name],
  })
  return {
    servers: {
      everything: example('everything', '2025-11-25'),
      files: example('files', '2025-11-25'),
      units: example('units', '2026-07-28'),
      tea: example('tea', '2026-07-28'),
    },
    config: { mcpServers: addresses },
    [Symbol.asyncDispose]: () => modern.stop('SIGTERM'),
  }
}

/** What raw frames in each server's newest revision see of it: what everybody else is compared with. */
export async function surveyDirectly(examples: Examples): Promise<Record<ServerName, Survey>> {
  const entries = SERVERS.map(async (name) => {
    const { address, newest, plan } = examples.servers[name]
    await using client = await openRaw(address, newest)
    return [name, await survey(client, plan)] as const
  })
  return Object.fromEntries(await Promise.all(entries)) as Record<ServerName, Survey>
}

function absolute({ command, args, cwd = '.' }: Command): Command {
  return {
    command: command === 'node' ? process.execPath : command,
    args,
    cwd: resolve(ROOT, 'examples', cwd),
  }
}
