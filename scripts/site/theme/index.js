// VitePress's theme without web fonts, with diagrams and the playground.
import theme from 'vitepress/theme-without-fonts'
import Playground from './Playground.vue'
import './style.css'

export default {
  extends: theme,
  enhanceApp: ({ app }) => app.component('Playground', Playground),
}
