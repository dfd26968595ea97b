// The page of react.jsx, with Vue.
import { createApp, h } from "vue"
import * as auth from "authsvc-client/vue"

const Who = {
  setup() {
    const { data, status, update } = auth.useSession()
    window.auth = { ...auth, update }
    return () => h("main", [
      h("p", { id: "status" }, status.value),
      h("p", { id: "name" }, data.value?.user.name),
      h("p", { id: "email" }, data.value?.user.email),
      h("button", { id: "in", onClick: () => auth.signIn("op") }, "Sign in"),
      h("button", { id: "rename", onClick: () => update({ name: "Ada King" }) }, "Rename"),
    ])
  },
}

const Mail = {
  setup() {
    const { data } = auth.useSession()
    return () => h("p", { id: "again" }, data.value?.user.email)
  },
}

createApp({ render: () => [h(Who), h(Mail)] }).mount("#root")
