// Configuration of VitePress. pages.lua writes the pages and their navigation.
import { readFileSync } from 'node:fs'
import { renderMermaidSVG } from 'beautiful-mermaid'
import { searchOptions } from './search.mjs'

const navigation = JSON.parse(readFileSync(new URL('../navigation.json', import.meta.url), 'utf8'))

// The anchor that GitHub gives to a heading, so that links work in both places.
const slugify = (text) =>
  text.toLowerCase().replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '').replace(/\s/g, '-')

// A diagram as inline SVG. The theme sets its colors; nothing is loaded from the network.
function diagram(source) {
  const svg = renderMermaidSVG(source, { transparent: true })
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .replace(/ style="[^"]*"/, ' role="img"')
  return `<div v-pre class="diagram">${svg}</div>\n`
}

function withDiagrams(md) {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info.trim() === 'mermaid'
      ? diagram(tokens[index].content)
      : fence(tokens, index, ...rest)
}

export default {
  title: 'blis',
  description: 'Simulate LLM inference clusters: routing, scheduling, scaling, capacity',
  base: process.env.BLIS_DOCS_BASE || '/',
  outDir: process.env.BLIS_DOCS_OUT,
  lastUpdated: false,
  markdown: { anchor: { slugify }, config: withDiagrams, languageAlias: { text: 'txt' } },
  themeConfig: {
    ...navigation,
    outline: [2, 3],
    search: { provider: 'local', options: { miniSearch: { searchOptions } } },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
}
