import { useState } from "react";
import { signIn } from "next-auth/react";

/**
 * Asks for a mail without leaving the page. Its link signs in the browser that opens it;
 * its code is for the page at the url in the answer of signIn.
 */
export function EmailForm({ provider }) {
  const [email, setEmail] = useState("");
  const [state, setState] = useState("idle"); // idle, sending, sent, failed
  const [codePage, setCodePage] = useState("");

  async function send(event) {
    event.preventDefault();
    setState("sending");
    try {
      const { error, url } = await signIn(provider, { email, redirect: false });
      setCodePage(url);
      setState(error ? "failed" : "sent");
    } catch {
      setState("failed"); // no network, or an invalid answer
    }
  }

  return (
    <form onSubmit={send}>
      <label htmlFor="email">Email address</label>
      <input
        id="email"
        type="text" // with "email", browsers refuse jürgen@example.com
        inputMode="email"
        autoComplete="email"
        autoCapitalize="none"
        spellCheck={false}
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
        {state === "sent" && (
          <>
            Check the inbox of {email}. Open the link in this browser, or{" "}
            <a href={codePage}>enter the code</a>.
          </>
        )}
        {state === "failed" && "That did not work. Check the address and try again."}
      </p>
    </form>
  );
}
