import { useEffect, useState } from "react";
import { getProviders } from "next-auth/react";

/**
 * The configured providers as a list; undefined while they load, null when
 * there are none or the service cannot be reached.
 */
export function useProviders() {
  const [providers, setProviders] = useState();
  useEffect(() => {
    let current = true;
    getProviders().then((map) => current && setProviders(map && Object.values(map)));
    return () => {
      current = false;
    };
  }, []);
  return providers;
}
