// Conveniences of the pages of dev. Without scripts, they have links instead.

// Snippets get a button that copies them.
for (const pre of document.querySelectorAll("pre[data-copy]")) {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  button.setAttribute("aria-label", "Copy: " + pre.getAttribute("aria-label"))
  const said = document.createElement("span")
  said.className = "visually-hidden"
  said.setAttribute("role", "status")
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent)
      button.textContent = said.textContent = "Copied"
    } catch { // not allowed: select it, so that one key copies it
      getSelection().selectAllChildren(pre)
      button.textContent = said.textContent = "Selected"
    }
    setTimeout(() => { button.textContent = "Copy"; said.textContent = "" }, 2000)
  })
  const box = document.createElement("div")
  box.className = "snippet"
  pre.replaceWith(box)
  box.append(pre, button, said)
}

// The inbox shows a new mail when it comes.
const shown = document.querySelector("[data-follow]")
if (shown) {
  const look = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(shown.dataset.follow, { cache: "no-store" })
        if (answer.ok && await answer.text() !== shown.dataset.state) return location.reload()
      } catch { /* dev has stopped, or will answer the next time */ }
    }
    setTimeout(look, 1500)
  }
  setTimeout(look, 1500)
}
