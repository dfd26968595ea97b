// The headers of Node.js, for the types' test, which does without @types/node.
export interface IncomingHttpHeaders {
  [name: string]: string | string[] | undefined;
  cookie?: string;
  "set-cookie"?: string[];
}
