import { signIn } from "next-auth/react";
import { EmailForm } from "./EmailForm.jsx";
import { useProviders } from "./useProviders.js";

/** A button for each OAuth provider and a form for the email one. */
export function SignIn() {
  const providers = useProviders();
  const oauth = providers?.filter(({ type }) => type === "oauth") ?? [];
  const email = providers?.find(({ type }) => type === "email");
  return (
    <>
      <h1>Sign in</h1>
      {providers === null && (
        <p className="notice" role="alert">
          The service does not answer. Is it running on port 3000?
        </p>
      )}
      {oauth.map(({ id, name }) => (
        <button key={id} type="button" onClick={() => signIn(id)}>
          Sign in with {name}
        </button>
      ))}
      {oauth.length > 0 && email && <p className="or">or</p>}
      {email && <EmailForm provider={email.id} />}
    </>
  );
}
