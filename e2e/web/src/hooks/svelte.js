import { mount } from "svelte"
import Mail from "./Mail.svelte"
import Who from "./Who.svelte"

const target = document.getElementById("root")
mount(Who, { target })
mount(Mail, { target })
