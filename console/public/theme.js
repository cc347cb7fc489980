// Runs before the first paint, so that no theme ever flashes. The content policy forbids inline scripts.
;(() => {
  let chosen = null
  try {
    chosen = localStorage.getItem('lazaret.theme')
  } catch {
    // Storage may be forbidden; then the system's theme is used.
  }
  const isDark =
    chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
})()
