import { useState } from "react";
import { signIn } from "next-auth/react";

/** Asks for a sign-in link without leaving the page. */
export function EmailForm({ provider }) {
  const [email, setEmail] = useState("");
  const [state, setState] = useState("idle"); // idle, sending, sent, failed

  async function send(event) {
    event.preventDefault();
    setState("sending");
    try {
      const { error } = await signIn(provider, { email, redirect: false });
      setState(error ? "failed" : "sent");
    } catch {
      setState("failed"); // no network, or an invalid answer
    }
  }

  return (
    <form onSubmit={send}>
      <label htmlFor="email">E-mail address</label>
      <input
        id="email"
        type="email"
        autoComplete="email"
        required
        value={email}
        onChange={(event) => {
          setEmail(event.target.value);
          setState("idle");
        }}
        aria-describedby="email-outcome"
      />
      <button type="submit" className="primary" disabled={state === "sending"}>
        Email me a link
      </button>
      <p id="email-outcome" className="notice" role="status">
        {state === "sent" && `Check the inbox of ${email} and open the link in this browser.`}
        {state === "failed" && "That did not work. Check the address and try again."}
      </p>
    </form>
  );
}
