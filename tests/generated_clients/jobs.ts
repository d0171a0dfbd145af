// What a program does with the generated types: list, register, scan, findings, problems. Compiled with --strict.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

declare const process: { argv: string[] };

const [, , address, secret, cluster] = process.argv;
const client = createClient<paths>({ baseUrl: address, headers: { Authorization: `Bearer ${secret}` } });

function told<T>(answer: { data?: T; error?: components["schemas"]["ProblemBody"]; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const clusters = told(await client.GET("/api/v1/clusters", { params: { query: { limit: 10, ordering: "name" } } }));
const shown = told(await client.GET("/api/v1/clusters/{id}", { params: { path: { id: cluster! } } }));
const scan = told(
  await client.POST("/api/v1/clusters/{id}/scans", {
    params: { path: { id: cluster! }, header: { "Idempotency-Key": "typescript" } },
  }),
);
const findings = told(await client.GET("/api/v1/findings", { params: { query: { cluster: cluster!, limit: 3 } } }));
const missing = await client.GET("/api/v1/clusters/{id}", {
  params: { path: { id: "00000000-0000-0000-0000-000000000000" } },
});
const begun = told(await client.GET("/api/v1/events", { params: { query: { begin: "oldest", kind: "scan" } } }));
const program = told(
  await client.POST("/api/v1/service-accounts", {
    body: { name: "typescript", role: "viewer", everywhere: true, scopes: ["read"], networks: ["127.0.0.0/8"] },
  }),
);
const issued = told(
  await client.POST("/api/v1/service-accounts/{id}/tokens", {
    params: { path: { id: program.id } },
    body: { name: "x", scopes: ["read"], days: 1 },
  }),
);
const other = createClient<paths>({ baseUrl: address, headers: { Authorization: `Bearer ${issued.secret}` } });
const me = told(await other.GET("/api/v1/me"));
const states: components["schemas"]["ScanState"]["state"][] = [scan.state];

console.log(
  JSON.stringify({
    names: clusters.results.map((row) => row.name),
    verdict: shown.snapshot?.verdict ?? "",
    states,
    checks: findings.results.map((row) => row.check),
    events: begun.results.map((row) => row.event),
    me: me.name,
    problem: missing.error?.code ?? "",
  }),
);
