import { useState } from "react";
import { signIn, signOut, useSession } from "next-auth/react";
import { useProviders } from "./useProviders.js";

/** The signed-in user, and buttons to add an account, renew the session and sign out. */
export function Account() {
  const { data: session, update } = useSession();
  const [notice, setNotice] = useState("");
  const { name, email, image } = session.user ?? {};

  async function renew() {
    const renewed = await update();
    setNotice(renewed ? "The session was renewed." : "The session could not be renewed.");
  }

  return (
    <>
      <h1>Hello{name ? `, ${name}` : ""}</h1>
      <div className="person">
        {image && <img src={image} alt="" width="48" height="48" referrerPolicy="no-referrer" />}
        <p>
          Signed in{email ? ` as ${email}` : ""}, until{" "}
          <time dateTime={session.expires}>{new Date(session.expires).toLocaleString()}</time>
        </p>
      </div>
      <LinkButtons />
      <button type="button" onClick={renew}>
        Renew the session
      </button>
      <button type="button" className="primary" onClick={() => signOut()}>
        Sign out
      </button>
      <p className="notice" role="status">
        {notice}
      </p>
    </>
  );
}

/** The field link=true adds an account to this user instead of switching to it. */
function LinkButtons() {
  const oauth = useProviders()?.filter(({ type }) => type === "oauth") ?? [];
  return oauth.map(({ id, name }) => (
    <button key={id} type="button" onClick={() => signIn(id, { link: "true" })}>
      Add a {name} account
    </button>
  ));
}
