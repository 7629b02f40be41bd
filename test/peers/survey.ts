// Everything that one client can see of one server, in a form that can be compared.
import { codeOf } from './peer.ts'
import type { JsonObject, Peer, Ref } from './peer.ts'

/** What a survey asks of one server, by the server's own names. */
export interface Plan {
  readonly calls: readonly (readonly [name: string, args: JsonObject])[]
  readonly prompts: readonly (readonly [name: string, args: Record<string, string>])[]
  readonly reads: readonly string[]
  readonly completions: readonly (readonly [ref: Ref, name: string, value: string])[]
}

/** A result, or the code of the error in its place: messages are each program's own. */
export type Outcome = { readonly result: JsonObject } | { readonly code: number }

export interface Survey {
  readonly tools: readonly JsonObject[]
  readonly prompts: readonly JsonObject[]
  readonly resources: readonly JsonObject[]
  readonly templates: readonly JsonObject[]
  /** By what was asked: `call echo {"message":"hi"}`. */
  readonly outcomes: Readonly<Record<string, Outcome>>
}

/** Lists and calls all that the plan has. With a prefix: only tools and prompts that have it, named without it. */
export async function survey(peer: Peer, plan: Plan, prefix = ''): Promise<Survey> {
  const outcomes: Record<string, Outcome> = {}
  const ask = async (label: string, question: Promise<JsonObject>) => {
    outcomes[label] = await question.then(
      (result) => ({ result: withoutTime(result) }),
      (cause: unknown) => {
        const code = codeOf(cause)
        if (code === undefined) throw new Error(label, { cause })
        return { code }
      },
    )
  }
  const tools = named(await peer.listTools(), prefix)
  const prompts = named(await peer.listPrompts(), prefix)
  const resources = await peer.listResources()
  const templates = await peer.listResourceTemplates()
  for (const [name, args] of plan.calls)
    await ask(`call ${name} ${JSON.stringify(args)}`, peer.callTool(prefix + name, args))
  for (const [name, args] of plan.prompts)
    await ask(`get ${name} ${JSON.stringify(args)}`, peer.getPrompt(prefix + name, args))
  for (const uri of plan.reads) await ask(`read ${uri}`, peer.readResource(uri))
  for (const [ref, name, value] of plan.completions)
    await ask(
      `complete ${JSON.stringify(ref)} ${name}`,
      peer.complete(prefixed(ref, prefix), { name, value }),
    )
  return { tools, prompts, resources, templates, outcomes }
}

function named(items: JsonObject[], prefix: string): JsonObject[] {
  return items
    .filter((item) => String(item['name']).startsWith(prefix))
    .map((item) => ({ ...item, name: String(item['name']).slice(prefix.length) }))
}

function prefixed(ref: Ref, prefix: string): Ref {
  return ref.type === 'ref/prompt' ? { ...ref, name: prefix + ref.name } : ref
}

/** server-everything writes the time of day into what it makes. */
function withoutTime(result: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(result).replace(/created at [^"\\]*/g, 'created at …')) as JsonObject
}
