// A certified OpenID Connect provider (oidc-provider) on loopback, with two people and two groups.
// It prints its issuer, and ends with its standard input. POST /test/rotate signs with a new key from then on and
// forgets the old one; POST /test/people changes the groups of a person.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [redirect, client, secret] = process.argv.slice(2);
const people = {
  ada: { preferred_username: "ada", email: "ada@work.example", groups: ["kd-night", "canteen"] },
  ben: { preferred_username: "ben", email: "ben@work.example", groups: [] },
};

function key() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
}

function provider(issuer) {
  return new Provider(issuer, {
    clients: [{
      client_id: client, client_secret: secret, redirect_uris: [redirect], response_types: ["code"],
      grant_types: ["authorization_code"], token_endpoint_auth_method: "client_secret_post",
    }],
    jwks: { keys: [key()] },
    cookies: { keys: ["for the cookies of a test"] },
    claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email"], groups: ["groups"] },
    scopes: ["openid", "profile", "email", "groups"],
    conformIdTokenClaims: false, // claims of scopes stand in the ID token, as Okta, Entra ID, Keycloak and Dex do it
    pkce: { required: () => true, methods: ["S256"] },
    findAccount: async (_ctx, id) => people[id] && { accountId: id, claims: async () => ({ sub: `id-of-${id}`, ...people[id] }) },
  });
}

let answer;
const server = createServer((request, response) => {
  if (request.method !== "POST" || !request.url.startsWith("/test/")) return answer(request, response);
  let text = "";
  request.on("data", (piece) => { text += piece; });
  request.on("end", () => {
    if (request.url === "/test/rotate") answer = provider(issuer).callback();
    else Object.entries(JSON.parse(text)).forEach(([name, groups]) => { people[name].groups = groups; });
    response.end("done");
  });
});
let issuer;
server.listen(0, "127.0.0.1", () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  answer = provider(issuer).callback();
  console.log(issuer);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
