// Checks a built site: every link and picture of every page leads to a file of the site, every
// anchor exists, no page loads anything from another host, and searches find the expected pages.
//   node check.mjs FOLDER BASE      run where minisearch is installed
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expected, searchOptions } from './search.mjs'

const [folder, base] = process.argv.slice(2)

function* filesOf(directory) {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (statSync(path).isDirectory()) yield* filesOf(path)
    else yield path
  }
}

const pages = new Map()
for (const path of filesOf(folder)) {
  if (!path.endsWith('.html') || relative(folder, path).startsWith('playground/')) continue
  const html = readFileSync(path, 'utf8')
  pages.set(path, { html, ids: new Set([...html.matchAll(/\sid="([^"]+)"/g)].map((m) => m[1])) })
}

const problems = []
let links = 0

function fileOf(url) {
  const path = join(folder, decodeURIComponent(url.slice(base.length)))
  if (existsSync(path) && statSync(path).isFile()) return path
  const index = join(path, 'index.html')
  return existsSync(index) ? index : undefined
}

for (const [path, { html }] of pages) {
  const name = relative(folder, path)
  for (const [, kind, target] of html.matchAll(/<[^>]*?\s(href|src)="([^"]*)"/g)) {
    links++
    const isLink = kind === 'href'
    if (/^(https?:)?\/\//.test(target)) {
      if (!isLink) problems.push(`${name}: loads ${target}`)
      continue
    }
    if (/^(data|mailto|javascript):/.test(target)) continue
    const [address, anchor] = target.replace(/&amp;/g, '&').split('#')
    const file = address === '' ? path : address.startsWith(base) ? fileOf(address) : undefined
    if (!file) problems.push(`${name}: no file for ${target}`)
    else if (anchor && pages.has(file) && !pages.get(file).ids.has(decodeURIComponent(anchor)))
      problems.push(`${name}: no anchor for ${target}`)
  }
  for (const [, target] of html.matchAll(/(?:<link[^>]*href|@import url\()=?["']?(https?:[^"')]+)/g))
    problems.push(`${name}: loads ${target}`)
}

async function search() {
  const chunks = join(folder, 'assets/chunks')
  const name = readdirSync(chunks).find((file) => file.startsWith('@localSearchIndexroot'))
  const index = (await import(pathToFileURL(join(chunks, name)))).default
  // VitePress bundles it; this is the copy beside it.
  const { default: MiniSearch } = await import(
    pathToFileURL(createRequire(join(process.cwd(), 'x')).resolve('minisearch')))
  const engine = MiniSearch.loadJSON(index, {
    fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'], searchOptions,
  })
  for (const [words, page] of expected) {
    const found = engine.search(words).slice(0, 5).map((one) => one.id)
    if (!found.some((id) => id.startsWith(base.slice(0, -1) + page)))
      problems.push(`a search for "${words}" finds ${found.join(' ')} and not ${page}`)
  }
}
await search()

for (const problem of [...new Set(problems)]) console.error(`docs: ${problem}`)
console.error(`docs: ${pages.size} pages, ${links} links, ${problems.length} problems`)
process.exit(problems.length > 0 ? 1 : 0)
