"""Writes the manifest that installs an agent in a cluster: service account, roles and one pod, without the token's
Secret."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from migrations_app.actions.base import Action
from migrations_app.readiness.rbac.controller_roles import cluster_rules
from migrations_app.readiness.rbac.controller_roles import release_rules as helm_release_rules
from migrations_app.readiness.rbac.roles import act_rules, body, release_rules, scan_rules

NAME = "karpdash-agent"
TOKEN_SECRET = "karpdash-agent-token"  # noqa: S105 # nosec B105 - the name of a Secret
_HEAD = """# An agent of karpdash: it dials {server} and carries the requests of scans{and_actions}.
# The token comes from the page of the cluster, once, and is not in this file. Before this file:
#   kubectl create namespace {namespace}
#   kubectl --namespace {namespace} create secret generic {secret} --from-file=token=FILE
"""
_ACCOUNT = """apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
  namespace: {namespace}
automountServiceAccountToken: false
"""
_ROLE = """apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata:
  name: {name}
{place}rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}Binding
metadata:
  name: {name}
{place}roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {kind}
  name: {name}
subjects:
  - {{kind: ServiceAccount, name: {account}, namespace: {namespace}}}
"""
_DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {namespace}
  labels: {{app.kubernetes.io/name: {name}}}
spec:
  replicas: 1
  strategy: {{type: Recreate}}  # one agent for each token: a second one is refused
  selector:
    matchLabels: {{app.kubernetes.io/name: {name}}}
  template:
    metadata:
      labels: {{app.kubernetes.io/name: {name}}}
    spec:
      serviceAccountName: {name}
      automountServiceAccountToken: true
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: {{type: RuntimeDefault}}
      containers:
        - name: agent
          image: {image}
          command: [karpdash, agent, --server, {server}, --token-file, /var/run/karpdash/token,
                    --alive-file, /dev/shm/karpdash-alive{more}]
{env}          # Its loop touches the file; one that hangs does not. Ready means connected to karpdash.
          livenessProbe:
            exec:
              command: [python, -m, karpdash.alive, /dev/shm/karpdash-alive, --within, "120"]
            initialDelaySeconds: 15
            periodSeconds: 30
            timeoutSeconds: 10
            failureThreshold: 3
          readinessProbe:
            exec:
              command: [python, -m, karpdash.alive, /dev/shm/karpdash-alive, --within, "120", --says, connected]
            periodSeconds: 15
            timeoutSeconds: 10
          resources:
            requests: {{cpu: 10m, memory: 96Mi}}
            limits: {{memory: 384Mi}}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {{drop: [ALL]}}
          volumeMounts:
            - {{name: token, mountPath: /var/run/karpdash, readOnly: true}}
            - {{name: tmp, mountPath: /tmp}}
{ca_mount}      volumes:
        - name: token
          secret: {{secretName: {secret}, defaultMode: 0440}}
        - name: tmp
          emptyDir: {{sizeLimit: 64Mi}}
{ca_volume}"""
_PROXY = """          env:
            - {{name: HTTPS_PROXY, value: "{proxy}"}}
            - {{name: NO_PROXY, value: ""}}
"""
_CA_MOUNT = "            - {name: ca, mountPath: /etc/karpdash-ca, readOnly: true}\n"
_CA_VOLUME = """        - name: ca
          configMap: {{name: {ca}}}
"""
_CA_FILE = ", --ca-file, /etc/karpdash-ca/ca.crt"
_NETWORK = """# Nobody reaches it. Whom it dials is known here by port only: DNS, karpdash or the proxy, the API server.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {name}
  namespace: {namespace}
spec:
  podSelector:
    matchLabels: {{app.kubernetes.io/name: {name}}}
  policyTypes: [Ingress, Egress]
  egress:
    - ports:
        - {{protocol: UDP, port: 53}}
        - {{protocol: TCP, port: 53}}
{ports}"""
_API_PORTS = (443, 6443)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInstallation:
    """The options of the manifest. `actions` are those that the agent may carry out; without any it only reads. In
    the namespace `helm_in` it may also carry out runs of helm."""

    server: str
    image: str = "IMAGE"
    namespace: str = "karpdash"
    release_namespace: str = "kube-system"
    actions: tuple[Action, ...] = ()
    helm_in: str = ""
    proxy: str = ""
    ca_config_map: str = ""


def agent_manifest(installation: AgentInstallation) -> str:
    """Returns the manifest as YAML. The texts of the installation have to be plain words that need no quotes in
    YAML."""
    fields = {"name": NAME, "namespace": installation.namespace, "secret": TOKEN_SECRET, "server": installation.server}
    acting = bool(installation.actions)
    roles = [_role("ClusterRole", f"{NAME}-scan", rules=body(scan_rules()), agent=installation)]
    roles += [_role("Role", f"{NAME}-releases", rules=body(release_rules()), agent=installation)]
    if acting:
        roles += [_role("ClusterRole", f"{NAME}-act", rules=body(act_rules(installation.actions)), agent=installation)]
    if installation.helm_in:
        roles += [_role("ClusterRole", f"{NAME}-upgrade", rules=body(cluster_rules()), agent=installation)]
        roles += [
            _role(
                "Role",
                f"{NAME}-upgrade-release",
                rules=body(helm_release_rules()),
                agent=installation,
                home=installation.helm_in,
            )
        ]
    more = (", --act" if acting else "") + (
        f", --upgrade-controller, {installation.helm_in}" if installation.helm_in else ""
    )
    more += _CA_FILE if installation.ca_config_map else ""
    pod = _DEPLOYMENT.format(
        **fields,
        image=installation.image,
        more=more,
        env=_PROXY.format(proxy=installation.proxy) if installation.proxy else "",
        ca_mount=_CA_MOUNT if installation.ca_config_map else "",
        ca_volume=_CA_VOLUME.format(ca=installation.ca_config_map) if installation.ca_config_map else "",
    )
    ports = "".join(f"        - {{protocol: TCP, port: {port}}}\n" for port in _ports(installation))
    network = _NETWORK.format(**fields, ports=ports)
    head = _HEAD.format(**fields, and_actions=" and of approved actions" if acting else "")
    return head + "---\n".join([_ACCOUNT.format(**fields), *roles, pod, network])


def install_commands(agent: AgentInstallation) -> str:
    """Returns the commands that install the chart with the token in the file FILE."""
    place, chart = f"--namespace {agent.namespace}", '"$(karpdash files agent-chart)"'
    return (
        f"kubectl create namespace {agent.namespace}\n"
        f"kubectl {place} create secret generic {TOKEN_SECRET} --from-file=token=FILE\n"
        f"helm install {NAME} {chart} {place} --set server={agent.server} --set image.repository={agent.image}"
    )


def _ports(installation: AgentInstallation) -> tuple[int, ...]:
    """Returns the ports of all connections that the agent opens except DNS, each once."""
    ports = list(_API_PORTS)
    for url in filter(None, (installation.server, installation.proxy)):
        parts = urlsplit(url)
        ports.append(parts.port or (443 if parts.scheme == "https" else 80))
    return tuple(dict.fromkeys(ports))


def _role(kind: str, name: str, *, rules: str, agent: AgentInstallation, home: str = "") -> str:
    place = "" if kind == "ClusterRole" else f"  namespace: {home or agent.release_namespace}\n"
    return _ROLE.format(kind=kind, name=name, place=place, rules=rules, account=NAME, namespace=agent.namespace)
